"""Words that say nothing by themselves: articles, pronouns, prepositions, forms of to be.

Short lists of our own: packages have `buy`, `own` and `bank` in theirs, by which much of
what people say would prove nothing.
"""

BY_LANGUAGE = {
    language: frozenset(words.split())
    for language, words in {
        "english": """
            a an the this that these those it its i me my you your yours he him his she her
            hers we our ours they them their theirs who which what and or but nor so
            if then than as of to in on at by for from with into onto over under about up out off
            between after before while during through without there here where when how why is am
            are was were be been being have has had having do does did doing would shall
            should can could might must just also too very well now only even still yet such
            some any all both each
        """,
        "vietnamese": """
            tôi tui mình ta em anh chị bạn ông bà nó họ chúng này kia đó đây ấy ai gì nào đâu sao
            thế vậy là và hay hoặc nhưng mà thì nếu vì nên rằng của cho với từ đến ở tại trong
            ngoài trên dưới về bởi do các những một cái được bị có đã đang sẽ cũng rất lại ra
            vào lên xuống để khi như
        """,
        "german": """
            der die das den dem des ein eine einen einem einer eines ich mich mir du dich dir er
            sie es ihn ihm ihr wir uns euch mein dein sein unser dieser diese dieses und oder aber
            denn wenn als dass ob weil von zu zum zur in im an am auf mit bei nach aus vor für über
            unter um durch ist bin bist sind war waren sei habe hast hat haben hatte wird werden
            würde kann auch noch so da
        """,
        "french": """
            le la les l' un une des du de d' au aux je j' me moi tu te toi il elle on nous vous ils
            elles lui leur se mon ma mes ton ta tes son sa ses notre votre ce cet cette ces ça qui
            que qu' quoi dont où et ou mais donc ni car si comme à dans en sur sous par pour avec
            sans chez vers est suis es sommes êtes sont était ai as a avons avez ont avait y ne
            aussi très plus
        """,
        "spanish": """
            el la los las lo un una unos unas de del al a yo me mí tú te ti él ella nos nosotros
            ellos ellas le les se mi mis tu tus su sus este esta esto ese esa eso que quien cual y
            e o u pero ni si como en por para con sin sobre entre desde hasta es soy eres somos son
            era fue ser estoy está están he ha han hay había muy más también ya
        """,
        "portuguese": """
            o a os as um uma uns umas de do da dos das ao à em no na nos nas eu me mim tu te você
            ele ela nós eles elas lhe se meu minha teu seu sua este esta isto esse essa isso que
            quem qual e ou mas nem se como por para com sem sobre entre desde até é sou és somos
            são era foi ser estou está estão tenho tem há muito mais também já
        """,
        "italian": """
            il lo la i gli le l' un uno una di del della dei delle a al alla da dal in nel nella su
            sul io me mi tu te ti lui lei noi ci voi vi loro si mio mia tuo suo sua questo questa
            quello quella che chi cui e ed o ma né se come per con senza tra fra è sono sei siamo
            siete era fu essere ho hai ha abbiamo hanno aveva molto più anche già
        """,
        "dutch": """
            de het een ik mij me jij je u hij hem zij ze haar wij we ons jullie hun mijn jouw zijn
            onze dit dat deze die wie wat en of maar want als dan dat omdat van te tot in op aan
            met bij naar uit voor over onder om door is ben bent was waren heb hebt heeft hebben
            had wordt worden zal zou kan ook nog zo er
        """,
    }.items()
}

"""What a page hides from its reader is not read, however it hides it; what is seen is not lost."""

import pytest

from tests.support.documents import read

HIDES = [
    "<div hidden/>HIDDEN</div>",
    '<div style="display:none"/>HIDDEN</div>',
    "<script/>HIDDEN</script>",
    "<style/>HIDDEN</style>",
    "<!-- HIDDEN",
    '<p title="HIDDEN',
    "<!-- a -- > HIDDEN -->",
    "<p class=x>HIDDEN</p><style>.x{display:none}</style>",
    "<style>.a.b{display:none}</style><p class='b c a'>HIDDEN</p>",
    "<style>nav > .x, td .y{display:none}</style><nav><p class=x>HIDDEN</p></nav>",
    "<style>h1 + .x{display:none}</style><h1></h1><p class=x>HIDDEN</p>",
    "<style>[class~=x]{display:none}</style><p class='x y'>HIDDEN</p>",
    "<style>body *{display:none}</style><body><p>HIDDEN</p></body>",
    "<style>[data-x]{display:none}</style><p data-x=1>HIDDEN</p>",
    "<style>.x{display:none !important}</style><p class=x style='display:block'>HIDDEN</p>",
    "<body text=white><p>HIDDEN</p></body>",
    "<div style='background:teal'><p style='color:teal'>HIDDEN</p></div>",
    "<p popover>HIDDEN</p>",
    *(
        f"<p style='{style}'>HIDDEN</p>"
        for style in (
            *("color:rgba(0,0,0,0)", "color:rgb(0 0 0 / 0)", "color:#0000", "color:#00000000"),
            *("color:hsl(0,0%,100%)", "color:rgb(100%,100%,100%)", "color:floralwhite"),
            *("-webkit-text-fill-color:transparent", "display:none! important"),
            *("d\\69splay:none", "font:0/0 a", "font-size:1%", "font-size:1pt", "opacity:1%"),
            *("opacity:1e-9", "clip-path:inset(100%)", "margin-left:-9999px", "scale:0"),
            *("transform:translateX(-9999px)", "position:relative;left:-9999px"),
            *("position:absolute;left:-100em", "transform:scaleX(0)", "filter:opacity(0)"),
        )
    ),
]
SHOWS = [
    "a<!-->SEEN<!-- -->",
    "<!-- x --!>SEEN",
    "<style>.menu *{display:none}</style><p>SEEN</p>",
    "<style>.x:hover{display:none}</style><p class=x>SEEN</p>",
    "<style><!-- .y{color:red} --></style><p class=y>SEEN</p>",
    "<p style='color:teal'>SEEN</p>",
    "<p style='font:bold 12px/1.5 serif'>SEEN</p>",
    "<p style='background:url(x.png) no-repeat;color:inherit'>SEEN</p>",
    "<p style='transform:translate(-50%, -50%);opacity:.8'>SEEN</p>",
    "<p style='color:rgba(0, 0, 0, .9)'>SEEN</p>",
    "<br/>SEEN",
    "1 < 2 and SEEN > 0",
]


@pytest.mark.parametrize("page", HIDES)
async def test_what_is_hidden(page: str):
    found = await read("a.html", f"<!doctype html><p>ok</p>{page}".encode())
    assert "HIDDEN" not in found.text, found.text
    assert "ok" in found.text


@pytest.mark.parametrize("page", SHOWS)
async def test_what_is_seen(page: str):
    assert "SEEN" in (await read("a.html", f"<!doctype html>{page}".encode())).text


@pytest.mark.parametrize(
    ("head", "encoding"),
    [
        ('<meta charset="gb2312">', "gb2312"),
        ("<meta http-equiv=Content-Type content='text/html; charset=Shift_JIS'>", "shift_jis"),
        ("<meta charset=windows-1251>", "windows-1251"),
        ("<meta charset=windows-1251>", "utf-8"),
        ("<meta charset=none-such>", "utf-8"),
        ("", "utf-16"),
    ],
)
async def test_how_a_page_is_encoded(head: str, encoding: str):
    """As it says, unless it is UTF-8; one of UTF-16 is known as a page, too."""
    words = "Правила" if encoding == "windows-1251" else "规则"
    words = "規則" if encoding == "shift_jis" else words
    page = f"<!doctype html>{head}<p>{words}</p><p hidden>HIDDEN</p>"
    found = await read("a.txt", page.encode(encoding))
    assert found.text.strip() == words


async def test_what_may_stand_before_a_page():
    page = b'<?xml version="1.0" encoding="iso-8859-1"?>\n<!-- x --><!DOCTYPE html><p>na\xefve<p hidden>HIDDEN'
    assert (await read("a.txt", page)).text.strip() == "naïve"


async def test_comments_of_markdown_that_are_code():
    """Are shown, and nothing behind them is lost."""
    text = "A comment starts with `<!--` in HTML.\n\n```\n<!-- x -->\n```\nEnd.<!-- HIDDEN -->"
    assert (await read("a.md", text.encode())).text == text.removesuffix("<!-- HIDDEN -->")
    # a span at the start of a line is no fence
    text = "```x``` is code.\n\nSeen.<!-- HIDDEN -->"
    assert (await read("a.md", text.encode())).text == text.removesuffix("<!-- HIDDEN -->")


async def test_marks_before_json_and_mail():
    mark = b"\xef\xbb\xbf"
    assert "alpha" in (await read("b.json", mark + b'{"a": "alpha"}')).text
    mail = await read("c.eml", mark + b"\r\nFrom: ann@example.com\r\n\r\nHello.\r\n")
    assert "Hello." in mail.text


async def test_mails_without_a_plain_text():
    """The page is read where the text beside it is empty; that there is none is said."""
    head = "From: ann@example.com\r\nContent-Type: multipart/alternative; boundary=y\r\n\r\n"
    parts = (
        "--y\r\nContent-Type: text/plain\r\n\r\n\r\n--y\r\nContent-Type: text/html\r\n\r\n<p>Only"
    )
    assert "Only" in (await read("a.eml", f"{head}{parts}\r\n--y--\r\n".encode())).text
    empty = await read("b.eml", b"From: a@example.com\r\nContent-Type: text/calendar\r\n\r\nx\r\n")
    assert empty.notes == ("it has no text of its own",)
    plain = await read("c.eml", "From: a@example.com\r\n\r\nQuy tắc\r\n".encode())
    assert "Quy tắc" in plain.text

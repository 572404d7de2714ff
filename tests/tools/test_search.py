"""Finding tools by what they are for."""

from hypothesis import given
from hypothesis import strategies as st

from tools import Tool, ToolContext, tool
from tools.search import MAX_FOUND, ToolIndex, search_tool


def made(name: str, description: str, *arguments: str) -> Tool:
    @tool(name=name, description=description)
    async def act() -> str:
        return name

    properties = {argument: {"type": "string"} for argument in arguments}
    act.parameters["properties"] = properties
    return act


TOOLS = [
    made("listInvoices", "All invoices of a customer.", "customer_id"),
    made("send_mail", "Send a mail to somebody.", "to", "subject"),
    made("CreateTicket", "Open a ticket for a customer.", "title"),
    made("RestartHost", "Start a host anew.", "host"),
    made("thoi_tiet", "Thời tiết hôm nay ở một nơi.", "noi"),
]


def names(query: str, limit: int = 5) -> list[str]:
    return [one.name for one in ToolIndex(TOOLS).find(query, limit)]


def test_what_fits_best_comes_first():
    """By name, in its parts; by description; by argument; in any language."""
    assert names("invoice list of a customer")[0] == "listInvoices"
    assert names("restart a host") == ["RestartHost", *names("restart a host")[1:]]
    assert names("subject")[0] == "send_mail"
    assert names("thời tiết") == ["thoi_tiet"]
    assert names("TICKET") == ["CreateTicket"]
    assert names("weather") == []
    assert len(names("a customer host mail", 2)) == 2


def test_nothing_to_find():
    assert ToolIndex([]).find("anything", 5) == []


texts = st.text(max_size=30)


@given(st.lists(st.tuples(texts, texts), max_size=8), texts, st.integers(1, MAX_FOUND))
def test_any_words(described: list[tuple[str, str]], query: str, limit: int):
    """Never more than wanted, none twice, each with a word of the query; the same each time."""
    tools = [made(f"t{n}{name}", text) for n, (name, text) in enumerate(described)]
    found = ToolIndex(tools).find(query, limit)
    assert len(found) <= limit
    assert len({one.name for one in found}) == len(found)
    assert found == ToolIndex(tools).find(query, limit)


async def test_every_tool_is_found_by_its_own_words():
    """And told with its first line; the names are a fact of the call."""
    finder = search_tool(TOOLS)
    for one in TOOLS:
        context = ToolContext()
        arguments = finder.check({"query": f"{one.name} {one.description}", "limit": 1})
        text = await finder.act(arguments, context)
        assert text.splitlines()[1] == f"{one.name}: {one.description}"
        assert context.facts == {"found": one.name}

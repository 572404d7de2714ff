"""The operations on what is remembered: conversations, and memory."""

from crew.journal.query import ID
from server.http.bodies import (
    ChangeBody,
    ConversationBody,
    CoreBody,
    ForkConversationBody,
    ItemBody,
)
from server.http.endpoints import conversations, memory, people
from server.http.endpoints.conversations import CURSOR
from server.http.openapi.conversations import (
    BegunConversation,
    ChangedConversation,
    ConversationAnswer,
    ConversationsAnswer,
    ExportAnswer,
)
from server.http.openapi.memory import AddedItem, CoreAnswer, ErasureAnswer, ItemsAnswer
from server.http.openapi.parameters import (
    AFTER,
    FLAG,
    LIMIT,
    TEXT,
    USER,
    header_parameter,
    query_parameter,
)
from server.http.operations import (
    API,
    BODY,
    JSON,
    MARKDOWN,
    NDJSON,
    ApiOperation,
    get_operation,
    post_operation,
)

CONVERSATIONS = f"{API}/conversations"
CONVERSATION = f"{CONVERSATIONS}/{{conversation_id}}"
OF_USER = f"{API}/users/{{user:encoded}}"
CORE_BLOCK = f"{OF_USER}/core/{{block}}"
ITEMS = f"{OF_USER}/recall"
OF_CONVERSATION = query_parameter(
    "conversation_id",
    "Of what belongs to a conversation.",
    pattern=ID,
    wrong="is no id of a conversation",
)

REMEMBERED = (
    get_operation(
        CONVERSATIONS,
        "read",
        conversations.list_conversations,
        ConversationsAnswer,
        (404, 503),
        USER,
        query_parameter("q", "Only those with it in their title or a query.", **TEXT),
        query_parameter("limit", "So many at most.", **LIMIT),
        query_parameter(
            "after",
            "The `next` of the page before.",
            pattern=f"^{CURSOR}$",
            wrong="is no `next` of a page",
        ),
    ),
    post_operation(
        CONVERSATIONS,
        "run",
        conversations.create_conversation,
        201,
        BegunConversation,
        (404, *BODY, 503),
        ConversationBody,
    ),
    get_operation(
        CONVERSATION,
        "read",
        conversations.show_conversation,
        ConversationAnswer,
        (404, 503),
        USER,
        query_parameter("limit", "So many exchanges at most.", **LIMIT),
        query_parameter(
            "after",
            "The number of the last exchange that is known.",
            type="integer",
            minimum=0,
            maximum=999_999_999,
            default=0,
            wrong="is the number of an exchange",
        ),
    ),
    ApiOperation(
        "patch",
        CONVERSATION,
        "run",
        conversations.change_conversation,
        {200: (JSON, ChangedConversation)},
        (404, *BODY, 503),
        body=ChangeBody,
    ),
    ApiOperation(
        "delete",
        CONVERSATION,
        "run",
        conversations.delete_conversation,
        {204: None},
        (404, 409, 503),
        (USER, query_parameter("cancel", "End its run first.", **FLAG)),
    ),
    post_operation(
        f"{CONVERSATION}/fork",
        "run",
        conversations.fork_conversation,
        201,
        BegunConversation,
        (404, 409, *BODY, 503),
        ForkConversationBody,
    ),
    ApiOperation(
        "get",
        f"{CONVERSATION}/export",
        "read",
        conversations.export_conversation,
        {200: (MARKDOWN, ExportAnswer)},
        (404, 503),
        (USER, query_parameter("format", "Of the text.", enum=["json", "md"], default="json")),
    ),
    get_operation(
        CORE_BLOCK,
        "read",
        memory.show_core,
        CoreAnswer,
        (404, 503),
        OF_CONVERSATION,
    ),
    ApiOperation(
        "put",
        CORE_BLOCK,
        "run",
        memory.change_core,
        {200: (JSON, CoreAnswer)},
        (404, 412, *BODY, 422, 503),
        (
            OF_CONVERSATION,
            header_parameter("If-Match", "The version that is changed, or `*` for any."),
        ),
        CoreBody,
    ),
    get_operation(
        ITEMS,
        "read",
        memory.list_items,
        ItemsAnswer,
        (404, 503),
        OF_CONVERSATION,
        query_parameter("q", "Words that find them.", **TEXT),
        query_parameter("replaced", "Those, too, that others have replaced.", **FLAG),
        query_parameter("limit", "So many at most.", **LIMIT),
        AFTER,
    ),
    post_operation(
        ITEMS,
        "run",
        memory.add_item,
        201,
        AddedItem,
        (404, *BODY, 503),
        ItemBody,
        parameters=(OF_CONVERSATION,),
    ),
    ApiOperation(
        "delete",
        f"{ITEMS}/{{item_id}}",
        "run",
        memory.forget_item,
        {204: None},
        (404, 503),
        (OF_CONVERSATION,),
    ),
    ApiOperation(
        "get", f"{OF_USER}/export", "read", people.export_user, {200: (NDJSON, None)}, (503,)
    ),
    ApiOperation("delete", OF_USER, "run", people.erase_user, {202: (JSON, ErasureAnswer)}, (503,)),
)

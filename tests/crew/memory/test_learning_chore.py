"""The chore of helper `learn`: what it is shown, when it is done, and what fails."""

from pathlib import Path
from typing import Any

from crew import MemoryStore, Runs, load_crew
from crew.backends.memory_recall import MemoryRecall
from crew.journal.errors import StoreError
from tests.support.crews import write_crew
from tests.support.learning import PROFILE, Learned, learning, lesson, moving, taught
from tests.support.model_server import completion, http, model_server
from tools import VirtualClock


async def test_words_prove_no_other_text(tmp_path: Path):
    """An item that is said to be the same keeps its text, and gets no words that prove another one."""

    def reply(request: dict[str, Any]) -> bytes:
        messages = request["messages"]
        if "worth remembering" not in messages[0]["content"]:
            return http(200, completion("ok"))
        item = taught("owns VNM", "I own VNM shares", same_as=1)
        return http(200, completion(lesson(item)))

    async with model_server(reply) as server:
        providers = {"far": {"base_url": server.url, "max_retries": 0}}
        agents = {"a": {"provider": "far", "model": "m", "is_terminal": True}}
        memory = {"recall": {"learn": {"idle_seconds": 0}}}
        path = write_crew(tmp_path, agents, providers=providers, memory=memory, conversations={})
        one = Learned(Runs(load_crew(path, environment={}), MemoryStore()))
        async with one.runs:
            await one.runs.memory.recall.add("ann", "", "ann", "owns FPT shares")
            await one.say("I own VNM shares")
            await one.learn()
            (item,) = await one.runs.store.recall.listed("user:ann")
            assert (item.text, item.quote) == ("owns FPT shares", "")


async def test_the_helper_sees_what_is_known(tmp_path: Path):
    """Blocks, the nearest items with numbers; and says which is the same, and which is replaced."""
    asked: list[str] = []
    answers = [
        lesson(taught("lives in Hue", "I live in Hue"), taught("likes tea", "and I like tea")),
        lesson(
            taught("is fond of tea", "tea is what I like", 2, same_as="tea"),
            taught("has moved to Hoi An", "live in Hoi An", 2, replaces="Hue"),
            taught("x y", "tea is what I", 2, same_as=11, replaces=-1),
        ),
    ]

    def reply(request: dict[str, Any]) -> bytes:
        messages = request["messages"]
        if "worth remembering" not in messages[0]["content"]:
            return http(200, completion("ok"))
        asked.append(messages[1]["content"])
        answer = answers[len(asked) - 1]
        numbers = {
            line.partition(". ")[2]: line.partition(". ")[0] for line in asked[-1].splitlines()
        }
        answer = answer.replace('"tea"', numbers.get("likes tea", "0"))
        return http(200, completion(answer.replace('"Hue"', numbers.get("lives in Hue", "0"))))

    async with model_server(reply) as server:
        providers = {"far": {"base_url": server.url, "max_retries": 0}}
        agents = {"a": {"provider": "far", "model": "m", "is_terminal": True}}
        learn = {"idle_seconds": 0, "instructions": "Mind the tea."}
        memory = {"core": {"profile": PROFILE}, "recall": {"learn": learn}}
        path = write_crew(tmp_path, agents, providers=providers, memory=memory, conversations={})
        one = Learned(Runs(load_crew(path, environment={}), MemoryStore()))
        async with one.runs:
            await one.say("I live in Hue and I like tea")
            await one.learn()
            await one.say("tea is what I like; now I live in Hoi An")
            await one.learn()
            tea = next(item for item in await one.items() if item.text == "likes tea")
            assert tea.seen == 2
            hue = next(item for item in await one.items() if item.text == "lives in Hue")
            assert hue.replaced_by
            texts = ["has moved to Hoi An", "likes tea", "lives in Hue", "x y"]
            assert await one.texts() == texts
    assert "[profile] who this is" in asked[0]
    assert "<recall>" not in asked[0]
    assert "user: I live in Hue and I like tea" in asked[0]
    assert "1. " in asked[1]
    assert "Exchange 1" not in asked[1]


async def test_half_answers_and_too_many(tmp_path: Path):
    """1,000 items: ten are learned; an answer that is no JSON is requested once more."""
    many = [taught(f"text {n}", f"number {n} of these") for n in range(30)]
    one = learning(tmp_path, lesson(*many))
    async with one.runs:
        await one.say(" ".join(f"number {n} of these," for n in range(30)))
        await one.learn()
        assert len(await one.texts()) == 10
        assert one.refused == {"value": 20}
    clock = VirtualClock()
    two = learning(tmp_path / "half", '{"remember": [{"text": ', clock=clock)
    async with moving(clock), two.runs:
        await two.say("I own FPT")
        for _ in range(3):
            await two.learn()
            await clock.sleep(300)
        assert two.outcomes == ["learn retried", "learn retried", "learn failed"]
        assert await two.texts() == []


async def test_it_waits_until_a_conversation_is_idle(tmp_path: Path):
    """Each exchange puts it off."""
    clock = VirtualClock()
    answer = lesson(taught("owns FPT", "I own FPT"))
    one = learning(tmp_path, answer, learn={"idle_seconds": 60}, clock=clock)
    async with moving(clock), one.runs:
        await one.say("I own FPT")
        await clock.sleep(50)
        await one.say("and more")
        await clock.sleep(50)
        await one.learn()
        assert one.outcomes == []
        await clock.sleep(11)
        await one.learn()
        assert one.outcomes == ["learn done"]
        assert await one.texts() == ["owns FPT"]


async def test_nothing_is_learned_of_a_run_without_user(tmp_path: Path):
    one = learning(tmp_path, lesson(taught("owns FPT", "I own FPT")))
    async with one.runs:
        await one.say("I own FPT", user="")
        await one.learn()
        assert one.outcomes == []


async def test_two_users_with_the_same_conversation_id(tmp_path: Path):
    one = learning(tmp_path, lesson(taught("owns FPT", "I own FPT")))
    async with one.runs:
        await one.say("I own FPT")
        await one.say("I own nothing", user="eve")
        await one.learn()
        assert await one.texts() == ["owns FPT"]
        assert await one.items("user:eve") == []


async def test_a_conversation_that_is_deleted_meanwhile_teaches_nothing(tmp_path: Path):
    """And no chore brings anything back."""
    learned: list[Learned] = []
    deleted: list[bool] = []

    def reply(request: dict[str, Any]) -> bytes:
        if "worth remembering" not in request["messages"][0]["content"]:
            return http(200, completion("ok"))
        return http(200, completion(lesson(taught("owns FPT", "I own FPT"))))

    class Forgetful(MemoryRecall):
        async def search(self, search: Any) -> Any:
            if not deleted and learned:
                deleted.append(True)
                await learned[0].runs.conversations.delete("ann", "c1")
            return await super().search(search)

    async with model_server(reply) as server:
        providers = {"far": {"base_url": server.url, "max_retries": 0}}
        agents = {"a": {"provider": "far", "model": "m", "is_terminal": True}}
        memory = {"recall": {"learn": {"idle_seconds": 0}}}
        blocks = {"blocks": ["history"]}
        path = write_crew(
            tmp_path, agents, providers=providers, memory=memory, conversations={}, context=blocks
        )
        store = MemoryStore()
        store.recall = Forgetful(
            store.core, store.chores, store.conversations.find, store.conversations.put
        )
        one = Learned(Runs(load_crew(path, environment={}), store))
        async with one.runs:
            await one.say("I own FPT")
            learned.append(one)
            await one.learn()
            assert deleted
            assert one.outcomes == ["learn stale"]
            assert await one.texts() == []


async def test_of_two_processes_one_learns(tmp_path: Path):
    """The other finds that it was first; what fails is tried again."""
    failed: list[bool] = []

    class Failing(MemoryRecall):
        async def learn(self, lesson: Any, limits: Any) -> Any:
            if not failed:
                failed.append(True)
                raise StoreError("lost")
            done = await super().learn(lesson, limits)
            # the answer of another process came first
            assert await super().learn(lesson, limits) is None
            return done

    clock = VirtualClock()
    store = MemoryStore(clock)
    store.recall = Failing(
        store.core, store.chores, store.conversations.find, store.conversations.put
    )
    answer = lesson(taught("owns FPT", "I own FPT"))
    one = learning(tmp_path, answer, store=store, clock=clock)
    async with moving(clock), one.runs:
        await one.say("I own FPT")
        await one.learn()
        await clock.sleep(60)
        await one.learn()
        assert one.outcomes == ["learn retried", "learn done"]
        (item,) = await one.items()
        assert item.seen == 1

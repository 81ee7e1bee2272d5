"""The embedded broker's parts by themselves: packets, filters, what waits, and any bytes at all."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzz.broker import BrokerFuzz
from motiond.daemon.broker.limits import Limits, Memory
from motiond.daemon.broker.matching import SubscriptionTree, pattern_of
from motiond.daemon.broker.outbox import Outbox, Waiting
from motiond.daemon.broker.packets import (
    Message,
    frame_at,
    read_connect,
    read_publish,
    write_publish,
)
from motiond.daemon.broker.session import LARGEST_ID, Session
from motiond.daemon.log.rate_limited import RateLimitedLog
from tests.daemon.broker import wire

pytestmark = pytest.mark.slow

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=300)
TOPICS = TEXTS.filter(lambda text: text and not set(text) & set("+#"))
LEVELS = st.sampled_from(["a", "b", "", "$x", "é"])
TOPICS_OF_LEVELS = st.lists(LEVELS, min_size=1, max_size=4).map("/".join).filter(bool)


@st.composite
def filters(draw: st.DrawFn) -> str:
    levels = draw(st.lists(LEVELS | st.just("+"), max_size=4))
    return "/".join([*levels, "#"] if draw(st.booleans()) or not any(levels) else levels)


@given(
    topic=TOPICS,
    payload=st.binary(max_size=3) | st.sampled_from([bytes(120), bytes(16_380), bytes(2_097_150)]),
    qos=st.integers(0, 2),
    retain=st.booleans(),
    again=st.booleans(),
    packet_id=st.integers(1, LARGEST_ID),
)
def test_a_message_is_written_as_the_standard_says_and_read_back(
    topic: str, payload: bytes, qos: int, packet_id: int, *, retain: bool, again: bool
) -> None:
    again = again and qos > 0
    message = Message(topic, payload, qos, retain)
    written = write_publish(message, qos=qos, retain=retain, packet_id=packet_id, again=again)
    assert written == wire.publish(topic, payload, qos, packet_id, retain=retain, again=again)
    frame = frame_at(bytearray(written), 0)
    assert frame is not None
    assert (frame.kind, frame.end) == (3, len(written))
    read = read_publish(frame.flags, written[frame.begin :])
    assert read == (message, packet_id if qos else 0)


@given(
    client_id=TEXTS,
    clean=st.booleans(),
    keep_alive_s=st.integers(0, 65535),
    will=st.none() | st.builds(wire.Will, TOPICS, st.binary(), st.integers(0, 2), st.booleans()),
    username=st.none() | TEXTS,
    password=st.none() | st.binary(),
)
def test_a_connect_is_read_as_it_was_written(
    client_id: str,
    keep_alive_s: int,
    will: wire.Will | None,
    username: str | None,
    password: bytes | None,
    *,
    clean: bool,
) -> None:
    password = None if username is None else password
    written = wire.connect(
        client_id, clean=clean, keep_alive_s=keep_alive_s, will=will, username=username, password=password
    )
    frame = frame_at(bytearray(written), 0)
    assert frame is not None
    connect = read_connect(written[frame.begin :])
    name = None if username is None else username.encode()
    assert connect[:4] == (4, client_id, clean, keep_alive_s)
    assert connect[5:] == (name, password)
    assert connect.will == (will and Message(str(will.topic), will.payload, will.qos, will.retain))


@settings(max_examples=200)
@given(st.lists(st.sampled_from(BrokerFuzz.seeds) | st.binary(max_size=12), max_size=6).map(b"".join))
def test_any_bytes_end_their_connection_at_most(data: bytes) -> None:
    BrokerFuzz().check(data)


@given(st.lists(st.tuples(filters(), st.integers(0, 2)), max_size=8), TOPICS_OF_LEVELS)
def test_the_tree_finds_what_each_filter_by_itself_matches(
    subscriptions: list[tuple[str, int]], topic: str
) -> None:
    tree: SubscriptionTree[str] = SubscriptionTree()
    for filter_, qos in subscriptions:
        tree.add(filter_, "one", qos)
    wanted = [qos for filter_, qos in dict(subscriptions).items() if pattern_of(filter_).fullmatch(topic)]
    assert tree.match(topic) == ({"one": max(wanted)} if wanted else {})
    assert tree.count == len(dict(subscriptions))
    for filter_ in dict(subscriptions):
        tree.remove(filter_, "one")
    assert (tree.match(topic), tree.count, tree._root.children) == ({}, 0, {})


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 1), st.integers(0, 900)), max_size=60))
def test_what_waits_keeps_its_bounds_and_its_order(puts: list[tuple[str, int, int]]) -> None:
    limits, memory = Limits(queued=10, queued_bytes=5000), Memory(10**9)
    outbox = Outbox(limits, memory)
    for number, (publisher, qos, size) in enumerate(puts):
        outbox.put(
            publisher, Waiting(Message(publisher, b"%09d" % number + bytes(size), qos, False), qos, False)
        )
        assert len(outbox) <= 10
        assert memory.held <= 5000
    taken = []
    while (waiting := outbox.take(sure=True)) is not None:
        taken.append((waiting.message.topic, waiting.qos, int(waiting.message.payload[:9])))
    assert len(taken) + outbox.dropped == len(puts)
    assert (len(outbox), memory.held) == (0, 0)
    for publisher in "abc":
        for qos in (0, 1):
            numbers = [number for topic, of, number in taken if (topic, of) == (publisher, qos)]
            assert numbers == sorted(numbers)


class Link:
    """A connection that takes everything."""

    writable = True

    def __init__(self) -> None:
        self.sent: list[bytes] = []

    def send(self, packet: bytes) -> None:
        self.sent.append(packet)

    def call_soon(self, action: object) -> None:
        pass

    close = make_way = lambda _: None


def test_identifiers_begin_again_and_leave_out_those_in_use() -> None:
    link = Link()
    session = Session("c", Limits(), Memory(10**9), lambda _: None, RateLimitedLog())
    session.attach(link)
    used = []
    for number in range(LARGEST_ID + 5):
        session.deliver("p", Message("a", b"", 1, retain=False), 1)
        packet_id = wire.published(link.sent[-1]).packet_id
        used.append(packet_id)
        if number != 1:
            session.acknowledged(packet_id)
    assert used == [*range(1, LARGEST_ID + 1), 1, 3, 4, 5, 6]

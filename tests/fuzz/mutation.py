"""Valid inputs made wrong, one small change after the other: bytes, texts, trees of JSON and YAML, protobuf."""

import copy
import json
import marshal
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from google.protobuf.message import Message

# Where decoders break: the ends of ranges, and what is one beyond.
NUMBERS: Sequence[Any] = (
    0, 1, -1, 2, 7, 99, 2**31 - 1, 2**31, 2**53, 2**63 - 1, 2**63, -(2**63), 2**64 - 1, 10**400, 0.5, -0.5, 1e300,
)  # fmt: skip
TEXTS = (
    "", " ", "x", "../x", "a/b", "a,b", "\x00", "\n", "\x1b[31m", "é", "😀", "<b>", "NaN", "x" * 300, "-", "=", "done",
    "20260101-000000-good", "1700000000", "2026-02-30", "\ud800",
)  # fmt: skip
UNWRITABLE = (
    b"[" * 5_000, b'{"a":' * 5_000, b"[" * 99 + b"]" * 99, b"9" * 5_000, b"1e999", b"NaN", b"-Infinity",
    b'"\\ud800"', b'"\xff"', b'1,"a":2', b"",
)  # fmt: skip
_STRUCTURE = b"\x00\xff\x7f\x80 \n,:;{}[]\"'#-+.0189"


def mutated_bytes(random: Random, data: bytes) -> bytes:
    """Some bytes changed, lost, doubled, moved or put in; or the end torn off."""
    out = bytearray(data)
    for _ in range(_few(random)):
        at = random.randrange(len(out) + 1)
        size = min(_few(random) ** 2, len(out) - at)
        match random.randrange(7):
            case 0 if at < len(out):
                out[at] ^= 1 << random.randrange(8)
            case 1:
                out[at : at + size] = random.randbytes(size)
            case 2:
                del out[at : at + size]
            case 3:
                out[at:at] = out[at : at + size]
            case 4:
                out[at:at] = bytes(random.choices(_STRUCTURE, k=_few(random)))
            case 5:
                out[at : at + size] = bytes([random.choice(_STRUCTURE)]) * size
            case _:
                del out[at:]
    return bytes(out)


def mutated_text(random: Random, data: bytes) -> bytes:
    """A line lost, doubled or moved, a number or a word in it another one; or bytes as above."""
    lines = data.splitlines(keepends=True)
    if not lines or random.random() < 0.3:
        return mutated_bytes(random, data)
    at = random.randrange(len(lines))
    match random.randrange(4):
        case 0:
            del lines[at]
        case 1:
            lines.insert(random.randrange(len(lines) + 1), lines[at])
        case 2:
            words = lines[at].split(b" ")
            word = random.choice([*map(_encoded, TEXTS), *(str(number).encode() for number in NUMBERS)])
            words[random.randrange(len(words))] = word
            lines[at] = b" ".join(words)
            lines[at] += b"" if lines[at].endswith(b"\n") else b"\n"
        case _:
            lines[at] = mutated_bytes(random, lines[at])
    return b"".join(lines)


def mutated_tree(random: Random, tree: Any) -> Any:
    """A tree of dicts and lists with some parts lost, doubled, of another kind, or in another place."""
    made = _copied(tree)
    for _ in range(_few(random)):
        holder = {"": made}
        parts = list(_parts(holder))
        container, key = random.choice(parts)
        match random.randrange(6):
            case 0 if container is not holder:
                del container[key]
            case 1 if isinstance(container, dict) and container is not holder:
                container[random.choice(TEXTS)] = container[key]
            case 2:
                other, of = random.choice(parts)
                if other is not holder:
                    container[key] = _copied(other[of])
            case 3 if isinstance(container, list):
                container.extend(_copied(container[:50]))
            case 4:
                deep: Any = container[key]
                for _ in range(random.choice((1, 1, 2, 3, 110))):
                    deep = [deep] if random.random() < 0.5 else {"a": deep}
                container[key] = deep
            case _:
                container[key] = odd_value(random)
        made = holder[""]
    return made


def json_of(random: Random, tree: Any) -> bytes:
    """The tree as JSON, now and then with what only a text can hold: endless depth, endless numbers, a key twice."""
    text = json.dumps(tree).encode()
    places = [at + 1 for at, byte in enumerate(text) if byte in b":[,"]
    if places and random.random() < 0.1:
        at = random.choice(places)
        text = text[:at] + random.choice(UNWRITABLE) + text[at:].lstrip()[1:]
    return text


def odd_value(random: Random) -> Any:
    return random.choice([*NUMBERS, *TEXTS, None, True, False, [], {}, [{}], {"": []}, float("nan"), float("inf")])


def mutated_message(random: Random, message: Message) -> Message:
    """A protobuf message with some fields cleared, doubled, or set to odd values of their kinds."""
    made = copy.deepcopy(message)
    for _ in range(_few(random)):
        of: Any = made
        while True:
            field = random.choice(of.DESCRIPTOR.fields)
            value = getattr(of, field.name)
            inner = field.message_type is not None and not field.message_type.GetOptions().map_entry
            if inner and not field.is_repeated:
                of = value
            elif inner and len(value) and random.random() < 0.8:
                of = random.choice(value)
            else:
                break
            if random.random() < 0.15:
                break
        try:
            _change(random, of, field, value)
        except (ValueError, TypeError, UnicodeEncodeError):  # no such number in a field of that kind
            of.ClearField(field.name)
    return made


def _change(random: Random, of: Any, field: Any, value: Any) -> None:
    if not hasattr(of, field.name) or of.DESCRIPTOR.fields_by_name.get(field.name) is not field:
        return
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        kind = field.message_type.fields_by_name["value"]
        value[random.choice(TEXTS)] = _odd_of(random, kind)
    elif field.is_repeated:
        match random.randrange(3):
            case 0 if len(value):
                del value[random.randrange(len(value))]
            case 1 if len(value):
                value.append(copy.deepcopy(random.choice(value)))
            case _ if field.message_type is not None:
                value.add()
            case _:
                value.append(_odd_of(random, field))
    elif field.message_type is not None:
        of.ClearField(field.name) if random.random() < 0.5 else value.SetInParent()
    else:
        setattr(of, field.name, _odd_of(random, field))


def _odd_of(random: Random, field: Any) -> Any:
    kinds: dict[int, Callable[[], Any]] = {
        field.CPPTYPE_STRING: lambda: (
            random.choice(TEXTS) if field.type == field.TYPE_STRING else random.randbytes(random.randrange(50))
        ),
        field.CPPTYPE_BOOL: lambda: random.random() < 0.5,
        field.CPPTYPE_DOUBLE: lambda: random.choice([*NUMBERS[:13], 0.5, 1e300, float("nan"), float("-inf")]),
        field.CPPTYPE_FLOAT: lambda: random.choice([0.5, 1e30, float("nan")]),
    }
    return kinds.get(field.cpp_type, lambda: random.choice([n for n in NUMBERS if isinstance(n, int)]))()


def _copied(tree: Any) -> Any:
    return marshal.loads(marshal.dumps(tree))  # a tenth of the time of copy.deepcopy


def _parts(tree: Any) -> list[tuple[Any, Any]]:
    """Every container and key of it, to some depth."""
    found: list[tuple[Any, Any]] = []
    level = [tree]
    while level and len(found) < 2_000:
        inner = []
        for each in level:
            for key in list(each) if isinstance(each, dict) else range(len(each)):
                found.append((each, key))
                if isinstance(each[key], dict | list):
                    inner.append(each[key])
        level = inner
    return found


def _few(random: Random) -> int:
    return random.choice((1, 1, 1, 2, 3, 5))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")

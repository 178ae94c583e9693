"""Reads and writes the table Every with FlatBuffers' Python library and the code
that flatc made of its schema.

Each line of standard input is an object with "message", in base64, and "value", what
it holds. Each line of standard output is an object with what the message says by
the object API ("object") and by accessors ("accessors"), and with messages of the
value, made by the object API ("packed") and by the functions that build tables field
by field ("built"). Enums are numbers.
"""

import base64
import json
import sys

import flatbuffers

import every_generated as g

IDENTIFIER = b"EVRY"

# Fields by their kind: n for numbers, s for strings, the name of a struct or table,
# a list of one of these for vectors, u for the union.
STRUCTS = {"Point": {"x": "n", "y": "n"}, "Box": {"from": "Point", "marks": ["n"], "mood": "n", "id": "n"}}
TABLES = {
    "Item": {"name": "s", "price": "n", "color": "n"},
    "Numbered": {"id": "n"},
    "Every": {
        **dict.fromkeys("b i8 u8 i16 u16 i32 u32 i64 u64 f d opt color mood h ha h64".split(), "n"),
        **dict.fromkeys("s lacking".split(), "s"),
        **dict.fromkeys("bytes shorts doubles nested flex moods empty".split(), ["n"]),
        "point": "Point", "box": "Box", "item": "Item", "again": "Every", "thing": "u",
        "texts": ["s"], "items": ["Item"], "boxes": ["Box"], "numbered": ["Numbered"],
    },
}
UNION = {"Item": "Item", "Other": "Item"}


def camel(name):
    return name[0].upper() + name[1:]


def plain(value):
    """Makes JSON of what a number or a string is read as."""
    return value.decode() if isinstance(value, bytes) else value


# Reading: get(name) returns a field, each(name) the elements of a vector.

def from_object(kind, x):
    if kind in ("n", "s"):
        return plain(x)
    if isinstance(kind, list):
        return [from_object(kind[0], e) for e in x]
    out = {}
    for name, k in (STRUCTS.get(kind) or TABLES[kind]).items():
        if k == "u":
            if x.thingType:
                member = next(m for m in UNION if getattr(g.Thing, m) == x.thingType)
                out["thing_type"], out["thing"] = member, from_object(UNION[member], x.thing)
            continue
        value = getattr(x, name + "_" if name == "from" else name)
        if value is not None:
            out[name] = from_object(k, value)
    return out


def from_accessors(kind, x):
    out = {}
    for name, k in (STRUCTS.get(kind) or TABLES[kind]).items():
        get = getattr(x, camel(name))
        if k == "u":
            if x.ThingType():
                member = next(m for m in UNION if getattr(g.Thing, m) == x.ThingType())
                part = getattr(g, UNION[member])()
                part.Init(get().Bytes, get().Pos)
                out["thing_type"], out["thing"] = member, from_accessors(UNION[member], part)
        elif isinstance(k, list):
            if not getattr(x, camel(name) + "IsNone")():
                elements = [get(i) for i in range(getattr(x, camel(name) + "Length")())]
                out[name] = [plain(e) if k[0] in ("n", "s") else from_accessors(k[0], e) for e in elements]
        else:
            value = get(g.Point()) if name == "from" else get()
            if value is not None:
                out[name] = plain(value) if k in ("n", "s") else from_accessors(k, value)
    return out


# Writing.

def to_object(kind, value):
    if kind in ("n", "s"):
        return value
    if isinstance(kind, list):
        return [to_object(kind[0], e) for e in value]
    x = getattr(g, kind + "T")()
    for name, v in value.items():
        if name == "thing_type":
            x.thingType = getattr(g.Thing, v)
        else:
            k = (STRUCTS.get(kind) or TABLES[kind])[name]
            setattr(x, name + "_" if name == "from" else name, to_object(UNION[value["thing_type"]] if k == "u" else k, v))
    return x


def build_struct(b, kind, v):
    if kind == "Point":
        return g.CreatePoint(b, v["x"], v["y"])
    return g.CreateBox(b, v["from"]["x"], v["from"]["y"], v["marks"], v["mood"], v["id"])


PREPEND = {
    "bytes": "Uint8", "shorts": "Int16", "doubles": "Float64", "nested": "Uint8", "flex": "Uint8",
    "moods": "Int16", "empty": "Int32",
}


def build_vector(b, kind, name, v):
    parts = v
    if kind == "s":
        parts = [b.CreateString(e) for e in v]
    elif kind in TABLES:
        parts = [build_table(b, kind, e) for e in v]
    getattr(g, "EveryStart" + camel(name) + "Vector")(b, len(v))
    for e in reversed(parts):
        if kind in STRUCTS:
            build_struct(b, kind, e)
        elif kind == "n":
            getattr(b, "Prepend" + PREPEND[name])(e)
        else:
            b.PrependUOffsetTRelative(e)
    return b.EndVector()


def build_table(b, kind, v):
    fields, made = TABLES[kind], {}
    for name, value in v.items():
        k = fields.get(name)
        if k == "s":
            made[name] = b.CreateString(value)
        elif isinstance(k, list):
            made[name] = build_vector(b, k[0], name, value)
        elif k == "u":
            made[name] = build_table(b, UNION[v["thing_type"]], value)
        elif k in TABLES:
            made[name] = build_table(b, k, value)
    getattr(g, kind + "Start")(b)
    for name, value in v.items():
        if name == "thing_type":
            g.EveryAddThingType(b, getattr(g.Thing, value))
            continue
        k = fields[name]
        if isinstance(k, str) and k in STRUCTS:
            made[name] = build_struct(b, k, value)
        getattr(g, kind + "Add" + camel(name))(b, made.get(name, value))
    return getattr(g, kind + "End")(b)


def finish(write):
    b = flatbuffers.Builder(0)
    b.Finish(write(b), file_identifier=IDENTIFIER)
    return base64.b64encode(bytes(b.Output())).decode()


def main():
    for line in sys.stdin:
        case = json.loads(line)
        message, value = base64.b64decode(case["message"]), case["value"]
        if not g.Every.EveryBufferHasIdentifier(message, 0):
            sys.exit("a message without its identifier")
        print(json.dumps({
            "object": from_object("Every", g.EveryT.InitFromPackedBuf(message)),
            "accessors": from_accessors("Every", g.Every.GetRootAs(message)),
            "packed": finish(lambda b: to_object("Every", value).Pack(b)),
            "built": finish(lambda b: build_table(b, "Every", value)),
        }))


if __name__ == "__main__":
    main()

"""Classes that people have as schemas, with records that fit and records that do not."""

from tests.recipes import schema_classes as classes
from tests.recipes.schema_cases import SchemaCase

HOME = {"street": "High Street"}
PERSON = {"name": "Ada", "home": HOME}

CLASSES = [
    SchemaCase(
        "plain model",
        classes.Plain,
        ({"topic": "x", "urgency": 1, "price": 1.5, "open": True},),
        ({"topic": "x", "urgency": 1, "price": 1.5}, {"topic": 1}),
    ),
    SchemaCase(
        "enums and literals",
        classes.Enums,
        ({"mood": "good", "level": 3, "shade": 0, "kind": 3, "only": "one"},),
        (
            {"mood": "so so", "level": 3, "shade": 0, "kind": 3},
            {"mood": "good", "level": 2, "shade": 0, "kind": 3},
            {"mood": "good", "level": 3, "shade": 0, "kind": 3, "only": "two"},
        ),
    ),
    SchemaCase(
        "optional fields",
        classes.Optionals,
        (
            {"name": None},
            {"name": "x", "mood": None, "size": None, "kind": None},
            {"name": "x", "mood": "bad", "size": 3, "kind": "a"},
        ),
        ({}, {"name": None, "size": -1}, {"name": None, "kind": "c"}),
    ),
    SchemaCase(
        "nested models",
        classes.Person,
        (PERSON, {**PERSON, "home": {**HOME, "number": 3}, "work": HOME}),
        ({"name": "", "home": HOME}, {"name": "Ada", "home": {}}, {"name": "Ada", "home": None}),
    ),
    SchemaCase(
        "lists of models",
        classes.Order,
        ({"buyer": PERSON, "lines": [HOME]}, {"buyer": PERSON, "lines": [HOME], "notes": ["x"]}),
        ({"buyer": PERSON, "lines": []}, {"buyer": PERSON, "lines": [{"street": 1}]}),
    ),
    SchemaCase(
        "strict bounds",
        classes.Bounds,
        ({"weight": 0.1, "share": 0, "pages": 9, "even": 4, "small": 1},),
        (
            {"weight": 0, "share": 0, "pages": 9, "even": 4, "small": 1},
            {"weight": 1, "share": 1, "pages": 9, "even": 4, "small": 1},
            {"weight": 1, "share": 0, "pages": 10, "even": 4, "small": 1},
            {"weight": 1, "share": 0, "pages": 1, "even": 3, "small": 1},
        ),
    ),
    SchemaCase(
        "constrained strings",
        classes.Strings,
        ({"code": "ABC", "short": "12345", "long": "abc"},),
        (
            {"code": "abc", "short": "", "long": "abc"},
            {"code": "ABC", "short": "123456", "long": "abc"},
        ),
    ),
    SchemaCase(
        "dates, times and ids",
        classes.Times,
        (
            {
                "day": "2026-01-02",
                "at": "2026-01-02T03:04:05Z",
                "clock": "03:04:05Z",
                "length": "PT5M",
                "key": "a8098c1a-f86e-11da-bd1a-00112444be1e",
                "site": "https://example.org/",
            },
        ),
        (
            {
                "day": "2 January",
                "at": "2026-01-02T03:04:05Z",
                "clock": "03:04:05Z",
                "length": "PT5M",
                "key": "x",
                "site": "https://example.org/",
            },
        ),
    ),
    SchemaCase(
        "decimals",
        classes.Money,
        ({"amount": 12.5, "rounded": 1}, {"amount": 1, "rounded": 1, "maybe": None}),
        ({"amount": "12.5", "rounded": 1}, {"amount": None, "rounded": 1}),
    ),
    SchemaCase(
        "sets",
        classes.Sets,
        ({"tags": ["a", "b"]}, {"tags": [], "numbers": [1]}),
        ({"tags": ["a", "a"]}, {"tags": [], "numbers": [1, 1]}),
    ),
    SchemaCase(
        "tuples",
        classes.Tuples,
        ({"point": [1, 2.5], "pair": ["a", 1], "many": []},),
        (
            {"point": [1], "pair": ["a", 1], "many": []},
            {"point": [1, 2], "pair": [1, "a"], "many": []},
            {"point": [1, 2], "pair": ["a", 1, 2], "many": []},
        ),
    ),
    SchemaCase(
        "free keys",
        classes.Maps,
        ({"counts": {"a": 1}}, {"counts": {}, "homes": {"a": HOME}}),
        ({"counts": {"a": "x"}}, {"counts": {}, "homes": {"a": {}}}),
        bound=(),
    ),
    SchemaCase(
        "discriminated union",
        classes.Tagged,
        (
            {"pet": {"kind": "cat", "lives": 9}},
            {"pet": {"kind": "cat", "lives": 9, "name": None}},
            {"pet": {"kind": "dog", "tricks": []}},
        ),
        ({"pet": {"kind": "dog", "lives": 9}}, {"pet": {"kind": "cow"}}, {"pet": None}),
    ),
    SchemaCase(
        "discriminated union or null",
        classes.MaybeTagged,
        ({}, {"pet": None}, {"pet": {"kind": "dog", "tricks": ["sit"]}}),
        ({"pet": {"kind": "dog", "lives": 9}},),
    ),
    SchemaCase(
        "unions of larger types",
        classes.Unions,
        (
            {"mark": "a", "where": "there", "which": HOME},
            {"mark": 1, "where": HOME, "which": {"kind": "dog", "tricks": []}},
        ),
        ({"mark": 1.5, "where": "x", "which": HOME}, {"mark": 1, "where": {}, "which": HOME}),
    ),
    SchemaCase(
        "aliases",
        classes.Aliased,
        ({"ticketId": 1, "writtenOn": "2026-01-02", "first": "x"},),
        ({"ticket_id": 1, "written_on": "2026-01-02", "first": "x"},),
    ),
    SchemaCase("descriptions", classes.Described, ({"topic": "x"},), ({"topic": 1},)),
    SchemaCase("inheritance", classes.Inherited, ({"name": "x", "size": 1},), ({"size": 1},)),
    SchemaCase(
        "generic model",
        classes.Page[classes.Address],
        ({"items": [HOME]}, {"items": [], "more": True}),
        ({"items": [{}]},),
    ),
    SchemaCase(
        "anything", classes.Free, ({"anything": [1]}, {"anything": 1, "open": {"a": 1}}), ({},), ()
    ),
    SchemaCase("extra fields allowed", classes.Extra, ({"name": "x"},), ({"name": 1},)),
    SchemaCase("validators and computed fields", classes.Checked, ({"name": "x"},), ({},)),
    SchemaCase(
        "dataclass",
        classes.Parcel,
        ({"number": "a"}, {"number": "a", "weight": 2, "stops": [HOME]}),
        ({"weight": 2}, {"number": "a", "stops": [1]}),
    ),
    SchemaCase(
        "typed dictionary", classes.Reply, ({"answer": "x"}, {"answer": "x", "sure": True}), ({},)
    ),
]

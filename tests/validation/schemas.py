"""The published schemas, and what holds a document against one: as much of JSON Schema as they use."""

from __future__ import annotations

import json
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "src" / "xcid" / "io" / "schemas"
TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "null": type(None),
    "integer": int,
    "number": (int, float),
}
KNOWN = {"type", "enum", "const", "minimum", "required", "properties", "additionalProperties", "items"}
TOLD = {"$schema", "$id", "title", "description"}


def read(name):
    return json.loads((FOLDER / f"{name}.json").read_text("utf-8"))


def check(name, document):
    """Refuse a document that is not what the schema says."""
    _check(read(name), document, name)


def _check(schema, part, place):
    assert schema.keys() <= KNOWN | TOLD, f"{place}: nobody reads {schema.keys() - KNOWN - TOLD}"
    kinds = schema.get("type", list(TYPES))
    kinds = [kinds] if isinstance(kinds, str) else kinds
    is_kind = any(isinstance(part, TYPES[kind]) and (kind == "boolean" or not isinstance(part, bool)) for kind in kinds)
    assert is_kind, f"{place}: {part!r} is not {kinds}"
    assert part in schema.get("enum", [part]), f"{place}: {part!r}"
    assert schema.get("const", part) == part, f"{place}: {part!r}"
    if "minimum" in schema:
        assert part >= schema["minimum"], place
    if isinstance(part, dict):
        known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
        assert set(schema.get("required", ())) <= part.keys(), f"{place} lacks {set(schema['required']) - part.keys()}"
        for name, cell in part.items():
            assert name in known or others is not False, f"{place}.{name} is not in the schema"
            _check(known.get(name, others if isinstance(others, dict) else {}), cell, f"{place}.{name}")
    if isinstance(part, list):
        for at, cell in enumerate(part):
            _check(schema.get("items", {}), cell, f"{place}[{at}]")

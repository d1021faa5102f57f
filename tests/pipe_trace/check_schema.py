"""Checks JSON on standard input against a schema: check_schema.py SCHEMA. Exits with 77 where the
library is not installed."""
import json
import sys

try:
    import jsonschema
except ImportError:
    print("python3-jsonschema is not installed")
    sys.exit(77)

with open(sys.argv[1], encoding="utf-8") as file:
    schema = json.load(file)
jsonschema.Draft202012Validator.check_schema(schema)
errors = list(jsonschema.Draft202012Validator(schema).iter_errors(json.load(sys.stdin)))
for error in errors[:20]:
    print("/".join(map(str, error.absolute_path)) + ": " + error.message)
sys.exit(1 if errors else 0)

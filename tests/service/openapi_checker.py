"""docs/openapi.yaml, read, and what it says of a request and of an answer."""
import json
import re

import jsonschema
import yaml

METHODS = ("get", "put", "post", "delete", "options", "patch")


class Operation:
    def __init__(self, contract, path, item, method):
        about = item[method]
        self.name = about["operationId"]
        self.method = method.upper()
        self.path = path
        self.prefixes = [server["url"].rstrip("/") for server in item.get("servers", contract.document["servers"])]
        self.parameters = [contract.resolve(each) for each in item.get("parameters", []) + about.get("parameters", [])]
        self.bodies = about.get("requestBody", {}).get("content")
        self.responses = {status: contract.resolve(each) for status, each in about["responses"].items()}
        self.is_open = about.get("security", contract.document["security"]) == []

    def __repr__(self):
        return f"{self.name} ({self.method} {self.path})"

    def parameter(self, place, name):
        for each in self.parameters:
            if each["in"] == place and each["name"] == name:
                return each
        raise AssertionError(f"{self}: there is no {place} parameter {name}")

    def response(self, status):
        found = self.responses.get(str(status), self.responses.get("default"))
        assert found is not None, f"{self}: {status} is not among the documented {sorted(self.responses)}"
        return found


class Contract:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.document = yaml.safe_load(file)
        self.operations = {}
        for path, item in self.document["paths"].items():
            for method in METHODS:
                if method in item:
                    operation = Operation(self, path, item, method)
                    assert operation.name not in self.operations, f"{operation.name} is there twice"
                    self.operations[operation.name] = operation

    def resolve(self, node):
        while "$ref" in node:
            node = self.find(node["$ref"])
        return node

    def find(self, reference):
        node = self.document
        for part in reference.removeprefix("#/").split("/"):
            node = node[part]
        return node

    def check_request_value(self, schema, value, what):
        validate({"components": self.document["components"], **schema}, value, what)

    def check_answer_value(self, schema, value, what):
        validate(self.closed(schema), value, what)

    def closed(self, schema):
        """The same without references, and without room for fields that are not written down. Clients must bear new
        ones, but those of this build are all documented."""
        schema = dict(self.resolve(schema))
        for part in schema.pop("allOf", ()):
            part = self.resolve(part)
            schema["properties"] = part.get("properties", {}) | schema.get("properties", {})
            schema["required"] = part.get("required", []) + schema.get("required", [])
        if "properties" in schema:
            schema["properties"] = {name: self.closed(each) for name, each in schema["properties"].items()}
            schema.setdefault("additionalProperties", False)
        for word in ("items", "additionalProperties"):
            if isinstance(schema.get(word), dict):
                schema[word] = self.closed(schema[word])
        for word in ("oneOf", "anyOf"):
            if word in schema:
                schema[word] = [self.closed(each) for each in schema[word]]
        return schema

    def check_itself(self):
        """What no single request would show: references, parameters, examples, components that nobody names."""
        check_no_null(self.document, "")
        text = json.dumps(self.document)
        for reference in set(re.findall(r'"\$ref": "([^"]+)"', text)):
            self.find(reference)
        for kind in ("schemas", "parameters", "responses", "headers"):
            for name in self.document["components"][kind]:
                assert f'"#/components/{kind}/{name}"' in text, f"nobody names components/{kind}/{name}"
        for schema in self.document["components"]["schemas"].values():
            jsonschema.Draft202012Validator.check_schema(schema)
        for operation in self.operations.values():
            named = set(re.findall(r"{(\w+)}", operation.path))
            declared = {each["name"] for each in operation.parameters if each["in"] == "path"}
            assert named == declared, f"{operation}: path parameters {named} are declared as {declared}"
            for media in (operation.bodies or {}).values():
                self.check_strict(media.get("schema", {}), f"{operation}: request")
                if "example" in media:
                    self.check_request_value(media["schema"], media["example"], f"{operation}: example of a request")
            for status, response in operation.responses.items():
                for media in response.get("content", {}).values():
                    if "example" in media:
                        self.check_answer_value(media["schema"], media["example"], f"{operation}: example of {status}")

    def check_strict(self, schema, what):
        schema = self.resolve(schema)
        if "properties" in schema:
            assert schema.get("additionalProperties") is False, f"{what} is not strict"
        for name, each in schema.get("properties", {}).items():
            self.check_strict(each, f"{what}: {name}")
        for word in ("items", "additionalProperties"):
            if isinstance(schema.get(word), dict):
                self.check_strict(schema[word], f"{what}: {word}")
        for each in schema.get("oneOf", []) + schema.get("anyOf", []) + schema.get("allOf", []):
            self.check_strict(each, what)

    def check_body(self, operation, content_type, body):
        """Of a request that is meant to be good."""
        bodies = operation.bodies or {}
        media = bodies.get(content_type, bodies.get("*/*"))
        assert media is not None, f"{operation}: there is no body of {content_type}"
        if "schema" in media:
            self.check_request_value(media["schema"], body, f"{operation}: request")

    def check_answer(self, operation, status, headers, body):
        """Returns the media type's entry of the contract."""
        response = operation.response(status)
        what = f"{operation}: answer {status}"
        for name, header in response.get("headers", {}).items():
            assert not self.resolve(header).get("required") or headers.get(name), f"{what}: no header {name}"
        assert headers.get("X-Request-Id"), f"{what}: no header X-Request-Id"
        content = response.get("content", {})
        if not content:
            assert not body, f"{what}: there is a body: {body[:200]}"
            return None
        found = (headers.get("Content-Type") or "").partition(";")[0]
        media = content.get(found, content.get("*/*"))
        assert media is not None, f"{what}: its type is {found}: {body[:200]}"
        if found == "application/json" and "schema" in media:
            self.check_answer_value(media["schema"], json.loads(body), what)
        return media


def check_no_null(node, place):
    """A comma in a text that is not quoted makes a key without a value of its second half."""
    if place.endswith("/example"):
        return
    for key, value in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        assert value is not None, f"{place}/{key} is null"
        check_no_null(value, f"{place}/{key}")


def validate(schema, value, what):
    errors = list(jsonschema.Draft202012Validator(schema).iter_errors(value))
    if not errors:
        return
    worst = jsonschema.exceptions.best_match(errors)
    place = "/".join(map(str, worst.absolute_path))
    raise AssertionError(f"{what}: {place or 'it'}: {worst.message}\n{json.dumps(value)[:2000]}")

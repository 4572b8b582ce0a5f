"""docs/openapi.json as a judge: is an answer what the document says of its operation? The validator knows the
keywords that the document uses, and fails on any other, so that none is passed over."""
import json
import re
import urllib.parse

import belfry

DOCUMENT = json.loads((belfry.ROOT / 'docs' / 'openapi.json').read_text())
METHODS = ('get', 'post', 'put', 'patch', 'delete')
TYPES = {'object': dict, 'array': list, 'string': str, 'null': type(None)}
FORMATS = {
    'date-time': r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)',
    'duration': r'P(\d+D)?(T(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?',
    'uuid': r'[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}',
    'uri': r'https?://\S+',
}
NOTES = {'description', 'default'}


def resolve(thing):
    while '$ref' in thing:
        assert set(thing) == {'$ref'}, thing
        place = DOCUMENT
        for part in thing['$ref'].removeprefix('#/').split('/'):
            place = place[part]
        thing = place
    return thing


def is_of_type(value, name):
    if name in ('integer', 'number'):
        return isinstance(value, int) and not isinstance(value, bool)
    if name == 'boolean':
        return isinstance(value, bool)
    return isinstance(value, TYPES[name])


def of_some(schemas, value, where):
    found = []
    for schema in schemas:
        faults = list(check(schema, value, where))
        if not faults:
            return 1 + sum(not list(check(s, value, where)) for s in schemas if s is not schema), []
        found.append(faults[0])
    return 0, found


def check_object(schema, value, where):
    properties = schema.get('properties', {})
    for name in schema.get('required', []):
        if name not in value:
            yield f'{where}: {name} is missing'
    if not schema.get('minProperties', 0) <= len(value) <= schema.get('maxProperties', 10**9):
        yield f'{where}: {len(value)} members'
    more = schema.get('additionalProperties', True)
    for name, member in value.items():
        if name in properties:
            yield from check(properties[name], member, f'{where}/{name}')
        elif more is False:
            yield f'{where}: {name} is not declared'
        elif isinstance(more, dict):
            yield from check(more, member, f'{where}/{name}')


def check_array(schema, value, where):
    if not schema.get('minItems', 0) <= len(value) <= schema.get('maxItems', 10**9):
        yield f'{where}: {len(value)} items'
    for index, item in enumerate(value):
        yield from check(schema.get('items', {}), item, f'{where}/{index}')


def check_plain(schema, value, where):
    if 'enum' in schema and value not in schema['enum']:
        yield f'{where}: {value!r} is none of {schema["enum"]}'
    if 'const' in schema and value != schema['const']:
        yield f'{where}: {value!r} is not {schema["const"]!r}'
    if isinstance(value, str):
        size = len(value.encode())
        if not schema.get('minLength', 0) <= size <= schema.get('maxLength', 10**9):
            yield f'{where}: {size} bytes'
        if 'format' in schema and not re.fullmatch(FORMATS[schema['format']], value):
            yield f'{where}: {value!r} is no {schema["format"]}'
    elif isinstance(value, int) and not isinstance(value, bool):
        if not schema.get('minimum', value) <= value <= schema.get('maximum', value):
            yield f'{where}: {value} is out of range'


KNOWN = NOTES | {'type', 'enum', 'const', 'format', 'minLength', 'maxLength', 'minimum', 'maximum', 'properties',
                 'required', 'additionalProperties', 'minProperties', 'maxProperties', 'items', 'minItems',
                 'maxItems', 'anyOf', 'oneOf'}


def check(schema, value, where=''):
    """What is wrong with the value, one text each."""
    schema = resolve(schema)
    assert set(schema) <= KNOWN, set(schema) - KNOWN
    types = schema.get('type', [])
    types = [types] if isinstance(types, str) else types
    if types and not any(is_of_type(value, name) for name in types):
        yield f'{where}: {value!r:.200} is not {types}'
        return
    for word in ('anyOf', 'oneOf'):
        if word in schema:
            count, faults = of_some(schema[word], value, where)
            if count == 0 or (word == 'oneOf' and count > 1):
                yield f'{where}: {count} of {word}: {faults}'
    yield from check_plain(schema, value, where)
    if isinstance(value, dict):
        yield from check_object(schema, value, where)
    elif isinstance(value, list):
        yield from check_array(schema, value, where)


def operations():
    """{(METHOD, path)}"""
    return {(method.upper(), path) for path, item in DOCUMENT['paths'].items() for method in METHODS
            if method in item}


def operation_of(method, path):
    """The operation that a request asks for, with its template."""
    parts = urllib.parse.urlsplit(path).path.split('/')
    for template, item in DOCUMENT['paths'].items():
        words = template.split('/')
        if len(words) == len(parts) and all(w.startswith('{') or w == p for w, p in zip(words, parts)):
            if method.lower() in item:
                return template, item[method.lower()]
    return None, None


def expect_request(operation, path, headers, body):
    """A request that was taken must be one that the document allows."""
    declared = [resolve(p) for p in operation.get('parameters', [])]
    for name, _ in urllib.parse.parse_qsl(urllib.parse.urlsplit(path).query):
        assert name in [p['name'] for p in declared if p['in'] == 'query'], (path, name)
    for name in headers:
        assert name in [p['name'] for p in declared if p['in'] == 'header'] + ['Content-Type', 'Authorization'], (path, name)
    if body is None:
        assert not operation.get('requestBody', {}).get('required'), path
        return
    content = operation['requestBody']['content']
    faults = list(check(content[headers.get('Content-Type', 'application/json')]['schema'], body))
    assert not faults, (path, faults)


def expect_answer(operation, what, reply):
    declared = operation['responses'].get(str(reply.status))
    assert declared is not None, f'{what}: {reply.status} is not declared: {reply.body[:300]}'
    for name in declared.get('headers', {}):
        assert reply.headers[name], f'{what}: {name} is missing'
    content = declared.get('content')
    if content is None:
        assert reply.body == b'', what
        return
    kind = reply.headers['Content-Type'].split(';')[0]
    assert kind in content, f'{what}: {kind}'
    value = json.loads(reply.body) if kind.endswith('json') else reply.body.decode()
    faults = list(check(content[kind]['schema'], value))
    assert not faults, f'{what} {reply.status}: {faults}'


class Judge:
    """Asks a server, and judges each answer by the document. `taken`: the operations that had a success."""

    def __init__(self, server):
        self.server = server
        self.taken = set()

    def ask(self, method, path, body=None, headers=(), expect=None):
        headers = dict(headers)
        reply = self.server.api(method, path, body, headers)
        template, operation = operation_of(method, path)
        assert operation is not None, (method, path)
        expect_answer(operation, f'{method} {path}', reply)
        if expect is not None:
            assert reply.status == expect, (method, path, reply.status, reply.body[:500])
        if reply.status < 400:
            expect_request(operation, path, headers, body)
            self.taken.add((method, template))
        return reply

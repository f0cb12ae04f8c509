"""The API describes itself, and the readable page loads nothing from elsewhere."""

import re
from typing import Any

import httpx
import pytest
import pytest_asyncio

pytestmark = pytest.mark.asyncio(loop_scope="session")

METHODS = {"get", "head", "post", "put", "patch", "delete"}


@pytest_asyncio.fixture(loop_scope="session")
async def description(client: httpx.AsyncClient) -> dict[str, Any]:
    answer = await client.get("/api/openapi.json")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    found: dict[str, Any] = answer.json()
    return found


def operations(description: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    return {
        (method, path): operation
        for path, item in description["paths"].items()
        for method, operation in item.items()
        if method in METHODS
    }


async def test_every_operation_has_a_summary_and_an_id_of_its_own(
    description: dict[str, Any],
) -> None:
    found = operations(description)

    assert {("get", "/api/me"), ("get", "/status"), ("get", "/files/{key}")} <= found.keys()
    assert not [name for name, operation in found.items() if not operation.get("summary")]
    ids = [operation["operationId"] for operation in found.values()]
    assert len(ids) == len(set(ids))


async def test_what_needs_a_token_says_so_and_what_is_open_does_not(
    description: dict[str, Any],
) -> None:
    found = operations(description)
    closed = {name for name, operation in found.items() if operation.get("security")}

    assert {path for _, path in found.keys() - closed} == {"/status", "/metrics", "/files/{key}"}
    assert {"token", "key", "node", "centrifugo"} == description["components"]["securitySchemes"].keys()


async def test_problems_are_documented(description: dict[str, Any]) -> None:
    me = operations(description)["get", "/api/me"]["responses"]
    file = operations(description)["get", "/files/{key}"]["responses"]

    assert me["401"]["content"].keys() == {"application/problem+json"}
    assert {"200", "206", "403", "404", "416"} <= file.keys()
    assert "code" in description["components"]["schemas"]["Problem"]["properties"]


async def test_every_reference_leads_somewhere(description: dict[str, Any]) -> None:
    text = str(description)
    for name in re.findall(r"#/components/schemas/(\w+)", text):
        assert name in description["components"]["schemas"]


async def test_every_path_parameter_is_described(description: dict[str, Any]) -> None:
    for (_, path), operation in operations(description).items():
        described = {one["name"] for one in operation.get("parameters") or []}
        assert set(re.findall(r"{(\w+)}", path)) <= described


@pytest.mark.parametrize("path", ["/api", "/api/docs"])
async def test_the_page_lists_everything_and_loads_nothing(
    client: httpx.AsyncClient, description: dict[str, Any], path: str
) -> None:
    answer = await client.get(path)

    assert answer.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "sha256-" in answer.headers["content-security-policy"]
    for _, route in operations(description):
        assert route in answer.text
    assert "<script" not in answer.text
    assert not re.findall(r"""(?:src|href)=["']?(?:https?:)?//""", answer.text)
    for target in re.findall(r'href="?#([\w-]+)', answer.text):
        assert f'id="{target}"' in answer.text

"""A login server on loopback: it publishes a key set, and counts who asked."""

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey

NEW_KEY: dict[str, Callable[[], PrivateKey]] = {
    "RS256": lambda: rsa.generate_private_key(65537, 2048),
    "ES256": lambda: ec.generate_private_key(ec.SECP256R1()),
    "EdDSA": ed25519.Ed25519PrivateKey.generate,
}
ALGORITHM_CLASS: dict[str, Any] = {
    "RS256": jwt.algorithms.RSAAlgorithm,
    "ES256": jwt.algorithms.ECAlgorithm,
    "EdDSA": jwt.algorithms.OKPAlgorithm,
}


class LoginServer:
    def __init__(self) -> None:
        self.asked = 0
        self.answer: bytes | None = None
        self.keys: dict[str, tuple[str, PrivateKey]] = {}
        self._server: asyncio.Server | None = None
        self._port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}/jwks.json"

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    def add_key(self, key_id: str, algorithm: str) -> None:
        self.keys[key_id] = (algorithm, NEW_KEY[algorithm]())

    def public_jwk(self, key_id: str) -> dict[str, Any]:
        algorithm, private = self.keys[key_id]
        jwk = ALGORITHM_CLASS[algorithm].to_jwk(private.public_key(), as_dict=True)
        return {**jwk, "kid": key_id, "use": "sig"}

    def public_pem(self, key_id: str) -> bytes:
        public = self.keys[key_id][1].public_key()
        return public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)

    def sign(self, key_id: str, user_id: object, **claims: object) -> str:
        algorithm, private = self.keys[key_id]
        full = {
            "sub": str(user_id),
            "role": "authenticated",
            "aud": "authenticated",
            "exp": int(time.time()) + 60,
            **claims,
        }
        return jwt.encode(full, private, algorithm=algorithm, headers={"kid": key_id})

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        self.asked += 1
        body = self.answer
        if body is None:
            body = json.dumps({"keys": [self.public_jwk(one) for one in self.keys]}).encode()
        writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n"
            b"content-length: " + str(len(body)).encode() + b"\r\n\r\n" + body
        )
        await writer.drain()
        writer.close()

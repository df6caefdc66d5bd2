"""Tokens of the tests' own: good ones, and JWTs that nobody should believe."""
import base64
import hashlib
import hmac
import json
import subprocess
import time

import house

ISSUER, AUDIENCE = "login", "cloche"


def create(server, tenant, role="user"):
    """A token of Cloche's own, known to the server from its next look at the file on."""
    arguments = ["--tenant", tenant] + ["--role", role]
    return server.run(house.PROGRAM, "token", "create", *arguments).strip()


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def part(value):
    return base64url(value if isinstance(value, bytes) else json.dumps(value).encode())


def claims(**other):
    now = int(time.time())
    return {"iss": ISSUER, "aud": AUDIENCE, "tenant": "acme", "iat": now, "exp": now + 600} | other


def signed(header, payload, sign):
    text = part(header) + "." + part(payload)
    return text + "." + base64url(sign(text.encode()))


def hs256(secret):
    return lambda data: hmac.new(secret, data, hashlib.sha256).digest()


def rs256(key_file):
    def sign(data):
        return subprocess.run(["openssl", "dgst", "-sha256", "-sign", key_file], input=data, stdout=subprocess.PIPE,
                              check=True).stdout
    return sign


def make_rsa_key(directory, name="key"):
    """Private and public key, PEM files."""
    private, public = directory / f"{name}.pem", directory / f"{name}.pub"
    house.run("openssl", "genpkey", "-quiet", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", private)
    house.run("openssl", "pkey", "-in", private, "-pubout", "-out", public)
    return private, public

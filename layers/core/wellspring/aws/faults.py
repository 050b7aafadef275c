"""Owns how an AWS error becomes one of ours, once, at the edge."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    EndpointConnectionError,
    NoCredentialsError,
    PartialCredentialsError,
    TokenRetrievalError,
    UnauthorizedSSOTokenError,
)
from botocore.parsers import ResponseParserError

from wellspring.errors import Denied, NotSignedIn, Unavailable

CONDITION_FAILED = "ConditionalCheckFailedException"
INVALID = "ValidationException"
DENIED = {"AccessDenied", "AccessDeniedException", "AuthorizationError", "UnauthorizedOperation"}
NOT_SIGNED_IN = {
    "AuthFailure",
    "ExpiredToken",
    "ExpiredTokenException",
    "IncompleteSignature",
    "InvalidClientTokenId",
    "InvalidSignatureException",
    "MissingAuthenticationTokenException",
    "RequestExpired",
    "SignatureDoesNotMatch",
    "UnrecognizedClientException",
}
WITHOUT_CREDENTIALS = (
    NoCredentialsError,
    PartialCredentialsError,
    TokenRetrievalError,
    UnauthorizedSSOTokenError,
)


@contextmanager
def told_as_unavailable(what: str) -> Iterator[None]:
    """Turn whatever AWS raises into Unavailable with the name of what was tried."""
    try:
        yield
    except ClientError as error:
        found = code(error)
        if found in DENIED:
            raise Denied(f"{what} failed: {found}{_action(error)}.") from error
        kind = NotSignedIn if found in NOT_SIGNED_IN else Unavailable
        raise kind(f"{what} failed: {found}.") from error
    except WITHOUT_CREDENTIALS as error:
        raise NotSignedIn(f"{what} failed: {type(error).__name__}.") from error
    except EndpointConnectionError as error:
        endpoint = error.kwargs.get("endpoint_url", "AWS")
        raise Unavailable(f"{what} failed: {endpoint} cannot be reached.") from error
    except ResponseParserError as error:
        raise Unavailable(f"{what} failed: what answers there does not speak as AWS does.") from error
    except BotoCoreError as error:
        raise Unavailable(f"{what} failed: {type(error).__name__}.") from error


def code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", "unknown"))


def _action(error: ClientError) -> str:
    """Return the action that is missing, where AWS names it."""
    message = str(error.response.get("Error", {}).get("Message", ""))
    found = re.search(r"perform:? ([a-z0-9-]+:[A-Za-z]+)", message)
    return f", {found[1]} is not allowed" if found else ""

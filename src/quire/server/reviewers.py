"""Reviewers: who may look and who may decide, and under which name."""

from typing import Annotated

from quire.domain.errors import UsageError
from quire.server.access import AccessRole, Principal, requires

Viewer = Annotated[Principal, requires(AccessRole.VIEWER)]
Reviewer = Annotated[Principal, requires(AccessRole.REVIEWER)]


def reviewer_name(principal: Principal, who: str) -> str:
    """Signed-in people are who they are; whoever sits at this machine says who that is."""
    name = " ".join(who.split())
    if principal.local:
        if not any(map(str.isalnum, name)):
            raise UsageError(
                "say who decides: `who` is the name of the reviewer, with a letter or a digit"
            )
        return name
    if name and name != principal.name:
        raise UsageError(f"you are signed in as {principal.name}; leave `who` out")
    return principal.name

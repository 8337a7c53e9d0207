"""Workspace policy: what a workspace decides about its runs, over quire.toml, with a trail.

A decision holds for runs that begin after it; one that has begun keeps what it was told. Besides
the settings of a policy, a workspace decides what runs spend where their order does not say: from
which wallet, and how much each.
"""

from collections.abc import Mapping
from dataclasses import replace

from quire.domain.access import PolicyChange
from quire.domain.data import Json, plain_json
from quire.domain.errors import SettingsInvalid, UsageError
from quire.domain.policy import Policy, SourcedPolicy
from quire.domain.pricing import MOST_DOLLARS, from_usd
from quire.engine.context import EngineContext
from quire.engine.embedders import find_embedders
from quire.ledger.ledger import Transaction
from quire.pipeline.calls.limit_profiles import find_profile
from quire.pipeline.commands.wallets import UsualFunds, must_get_wallet
from quire.recipes.policy_layers import resolve_policy
from quire.recipes.setting_rules import POLICY_ALIASES, POLICY_RULES, TEXT, Rule, nearest_name
from quire.settings import Settings

WORKSPACE = "workspace"  # the layer
MOST_CHANGES = 100_000  # that are looked through for what holds
LARGEST = 2**63 - 1
BUILT_IN = "built-in"
WALLET, BUDGET = "wallet", "budget"


def _is_budget(value: Json) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return False
    try:
        return from_usd(value) > 0
    except UsageError:
        return False


FUND_RULES = {
    WALLET: TEXT,
    BUDGET: Rule(
        wanted=f'dollars above 0, such as 5, "5.00" or "$5", ${MOST_DOLLARS:,} at most',
        allows=_is_budget,
    ),
}


def read_workspace_policy(tx: Transaction) -> dict[str, Json]:
    """What a workspace decided and did not take back."""
    values: dict[str, Json] = {}
    for change in reversed(tx.access.policy_changes_before(LARGEST, MOST_CHANGES)):
        values[change.name] = change.value  # type: ignore[assignment]  # it was stored as JSON
    return {name: value for name, value in values.items() if value is not None}


def read_usual_funds(tx: Transaction) -> UsualFunds:
    """What runs that begin spend where their order does not say."""
    own = read_workspace_policy(tx)
    wallet, budget = own.get(WALLET), own.get(BUDGET)
    return UsualFunds(
        None if wallet is None else str(wallet), None if budget is None else from_usd(str(budget))
    )


def _policy_of(own: Mapping[str, Json]) -> dict[str, Json]:
    """What was decided about settings, without what is about money."""
    return {name: value for name, value in own.items() if name not in FUND_RULES}


def settings_layers(settings: Settings) -> list[tuple[str, Mapping[str, Json]]]:
    """What holds for all runs, the most specific first."""
    return [
        (WORKSPACE, settings.workspace_policy),
        ("quire.toml", settings.file_policy),
        ("environment", settings.environment_policy),
    ]


def with_workspace_policy(context: EngineContext) -> Settings:
    """The settings, with what the workspace decided."""
    with context.ledger.snapshot() as tx:
        own = _policy_of(read_workspace_policy(tx))
    return replace(context.settings, workspace_policy=own) if own else context.settings


class WorkspacePolicy:
    """Shows what holds for new runs, and changes it."""

    def __init__(self, context: EngineContext) -> None:
        """Keep decisions in the context's ledger."""
        self._context = context

    def show(self) -> dict[str, Json]:
        """Every setting as a run that begins now would get it: its value and its source."""
        with self._context.ledger.snapshot() as tx:
            own = read_workspace_policy(tx)
        return {**self._resolve(own).as_json(), **_funds_as_json(own)}

    def usual_funds(self) -> UsualFunds:
        """What a run that begins now spends where its order does not say."""
        with self._context.ledger.snapshot() as tx:
            return read_usual_funds(tx)

    def set(self, changes: Mapping[str, Json], who: str) -> dict[str, Json]:
        """Decide, all of it or nothing; None takes a decision back. Returns what holds then."""
        if not changes:
            raise UsageError("nothing is to be set", "name a setting, such as pack_size=10")
        now = self._context.runtime.now()
        with self._context.ledger.transaction() as tx:
            tx.runs.lock_key(b"policy " + self._context.ledger.workspace.encode())
            own = read_workspace_policy(tx)
            for key, value in changes.items():
                name = _known_name(key)
                if own.get(name) != value:
                    own[name] = value
                    tx.access.add_policy_change(name, value, who, now)
            resolved = self._resolve(own)
            self._check_names(tx, resolved.policy, own)
            return {**resolved.as_json(), **_funds_as_json(own)}  # a mistake undoes all of it

    def history(self, before: int = LARGEST, limit: int = 50) -> list[PolicyChange]:
        """Who decided what, the newest first."""
        with self._context.ledger.snapshot() as tx:
            return tx.access.policy_changes_before(before, limit)

    def _resolve(self, own: Mapping[str, Json]) -> SourcedPolicy:
        settings = replace(self._context.settings, workspace_policy=_policy_of(own))
        resolved = resolve_policy(settings_layers(settings))
        policy = resolved.policy
        if policy.max_calls < policy.max_tries:
            raise SettingsInvalid(
                f"max_calls ({policy.max_calls}) is below max_tries ({policy.max_tries}):"
                " a task would run out of calls first",
                fix="raise max_calls, or lower max_tries",
            )
        return resolved

    def _check_names(self, tx: Transaction, policy: Policy, own: Mapping[str, Json]) -> None:
        """Refuse to decide for what is not there: no run could begin."""
        if own.get("limits") is not None:
            find_profile(tx, policy)
        if own.get("embedder") is not None:
            find_embedders(self._context.settings, [policy.embedder])
        for name, rule in FUND_RULES.items():
            if (value := own.get(name)) is not None and not rule.allows(value):
                shown = plain_json(value)[:40]
                raise SettingsInvalid(f"{WORKSPACE}: {name} must be {rule.wanted}, not {shown}")
        if (wallet := own.get(WALLET)) is not None:
            must_get_wallet(tx, str(wallet))


def _known_name(key: str) -> str:
    name = POLICY_ALIASES.get(key, key)
    if name not in POLICY_RULES and name not in FUND_RULES:
        known = (*POLICY_RULES, *POLICY_ALIASES, *FUND_RULES)
        raise UsageError(f"{key} is not known", nearest_name(key, known))
    return name


def _funds_as_json(own: Mapping[str, Json]) -> dict[str, Json]:
    return {
        name: {"value": own.get(name), "source": BUILT_IN if own.get(name) is None else WORKSPACE}
        for name in FUND_RULES
    }

"""Apply plans to attention on the device of the model: the fast twin of the numpy reference."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from headroles.errors import BadInput
from headroles.plans.plan import Plan, Profile


@dataclass(frozen=True, slots=True, eq=False)
class DeviceProfile:
    """A profile's arrays on a device."""

    columns: list[int]
    lead: torch.Tensor
    extra: torch.Tensor
    extra_unit: torch.Tensor
    pieces: torch.Tensor | None
    whole: bool
    inside: torch.Tensor
    contrast: torch.Tensor
    query: torch.Tensor
    weight: torch.Tensor
    inverse: torch.Tensor
    total: torch.Tensor
    expected: torch.Tensor


@dataclass(frozen=True, slots=True, eq=False)
class DevicePlan:
    """A plan's arrays on a device."""

    columns: int
    linear: torch.Tensor
    weight: torch.Tensor
    divisor: torch.Tensor | None
    profiles: tuple[DeviceProfile, ...]


def to_device(plan: Plan, device: torch.device) -> DevicePlan:
    """The plan's arrays on the device, in memory that torch aligned.

    Products of the same numbers differ in their last bits with the alignment of their operands, so
    scores would depend on where an array happened to lie.
    """

    def move(array: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(device, copy=True)

    return DevicePlan(
        columns=plan.columns,
        linear=move(plan.linear),
        weight=move(plan.weight),
        divisor=None if plan.divisor is None else move(plan.divisor),
        profiles=tuple(_profile(profile, plan, move) for profile in plan.profiles),
    )


def _profile(profile: Profile, plan: Plan, move: Callable[[np.ndarray], torch.Tensor]) -> DeviceProfile:
    tokens = round(plan.weight.shape[1] ** 0.5)
    several = profile.pieces > 1
    inverse = np.divide(1, profile.even, out=np.zeros_like(profile.even), where=profile.even > 0)
    return DeviceProfile(
        columns=list(profile.columns),
        lead=move(profile.lead),
        extra=move(profile.extra),
        extra_unit=move(profile.extra_unit),
        pieces=move(profile.pieces[:, None]) if several.any() else None,
        whole=len(profile.lead) == tokens,
        inside=move(profile.inside),
        contrast=move(profile.contrast),
        query=move(profile.query),
        weight=move(profile.weight),
        inverse=move(inverse),
        total=move(profile.total),
        expected=move(profile.expected),
    )


def linear(plan: DevicePlan, rows: torch.Tensor, start: int) -> tuple[torch.Tensor, torch.Tensor | None]:
    """What a block of query rows adds to each mask sieve, and to its divisor.

    Args:
        plan: Of the example.
        rows: Attention (heads, rows, tokens) of queries ``start`` and following.
        start: First query of the block.
    """
    heads, count, tokens = rows.shape
    flat = rows.reshape(heads, -1).T
    part = slice(start * tokens, (start + count) * tokens)
    base = None if plan.divisor is None else plan.divisor[:, part] @ flat
    return plan.weight[:, part] @ flat, base


def contrast(profile: DeviceProfile, attention: torch.Tensor) -> torch.Tensor:
    """Contrasts (contrasts, heads) of whole attention (heads, tokens, tokens) of one example."""
    units = attention if profile.whole else _unit_attention(profile, attention)
    heads, count, _ = units.shape
    shifted = units.new_zeros((heads, count, 2 * count - 1))
    compared = shifted.as_strided(
        (heads, count, count), (count * (2 * count - 1), 2 * count - 2, 1), count - 1
    )
    torch.mul(units, profile.inside, out=compared)
    curve = shifted.sum(1) * profile.inverse
    mass = compared.sum(2)
    normaliser = curve @ profile.total
    rate = torch.where(normaliser > 0, mass / normaliser, 0.0)
    seen = (units.index_select(1, profile.query) * profile.weight).sum(2)
    rows = seen - rate.index_select(1, profile.query) * (curve @ profile.expected)
    return rows.new_zeros((len(profile.columns), heads)).index_add_(0, profile.contrast, rows.T)


def _unit_attention(profile: DeviceProfile, attention: torch.Tensor) -> torch.Tensor:
    keys = attention.index_select(2, profile.lead)
    if len(profile.extra):
        keys.index_add_(2, profile.extra_unit, attention.index_select(2, profile.extra))
    units = keys.index_select(1, profile.lead)
    if len(profile.extra):
        units.index_add_(1, profile.extra_unit, keys.index_select(1, profile.extra))
    return units if profile.pieces is None else units / profile.pieces


def unfit(key: str, layer: int) -> BadInput:
    """What to say of attention that is no number, as where a model's own numbers outgrow float16.

    Args:
        key: Of the input.
        layer: The first that has such weights, from 0.
    """
    return BadInput(
        f"attention weights must be finite, but layer {layer} gives some that are not for the input {key!r}; "
        f"try --dtype float32, or drop the input"
    )

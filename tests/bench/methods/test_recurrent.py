"""Our LSTM is torch's, for one network and for many at once."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.func import functional_call, stack_module_state, vmap
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from vastsum.bench.methods.nn.recurrent import Lstm, reversed_in_time

MASK = torch.arange(11)[None] < torch.tensor([[11], [6], [1]])


def networks(both_ways: bool) -> tuple[Lstm, nn.LSTM]:
    torch.manual_seed(0)
    ours = Lstm(5, 7, 2, both_ways=both_ways).double()
    theirs = nn.LSTM(5, 7, 2, batch_first=True, bidirectional=both_ways).double()
    with torch.no_grad():
        for n, layer in enumerate(ours.layers):
            for way, name in enumerate((f"l{n}", f"l{n}_reverse")[: 2 if both_ways else 1]):
                getattr(theirs, f"weight_ih_{name}").copy_(layer.from_input[way])
                getattr(theirs, f"weight_hh_{name}").copy_(layer.from_hidden[way])
                getattr(theirs, f"bias_ih_{name}").copy_(layer.bias[way])
                getattr(theirs, f"bias_hh_{name}").zero_()
    return ours, theirs


@pytest.mark.parametrize("both_ways", [False, True])
def test_outputs_states_and_gradients_are_those_of_torch(both_ways: bool) -> None:
    ours, theirs = networks(both_ways)
    x = torch.randn(3, 11, 5, dtype=torch.float64, requires_grad=True)
    y = x.detach().clone().requires_grad_()
    start = [torch.randn(3, 2, 7, dtype=torch.float64) for _ in range(2)]
    told, (hidden, cell) = ours(x, MASK, None if both_ways else (start[0], start[1]))
    packed = pack_padded_sequence(y, MASK.sum(dim=1), batch_first=True)
    outputs, state = theirs(packed, None if both_ways else tuple(each.transpose(0, 1).contiguous() for each in start))
    expected = pad_packed_sequence(outputs, batch_first=True, total_length=11)[0]
    torch.testing.assert_close(told[MASK], expected[MASK])
    loss = (told[MASK] ** 2).sum()
    their_loss = (expected[MASK] ** 2).sum()
    if not both_ways:
        torch.testing.assert_close((hidden.transpose(0, 1), cell.transpose(0, 1)), tuple(state))
        loss, their_loss = loss + (hidden * cell).sum(), their_loss + (state[0] * state[1]).sum()
    loss.backward()
    their_loss.backward()
    torch.testing.assert_close(x.grad, y.grad)
    torch.testing.assert_close(ours.layers[0].from_hidden.grad[0], theirs.weight_hh_l0.grad)
    torch.testing.assert_close(ours.layers[1].bias.grad[0], theirs.bias_ih_l1.grad)


def test_many_at_once_are_each_alone() -> None:
    members = [Lstm(5, 7, 2, both_ways=True).double() for _ in range(3)]
    x = torch.randn(3, 2, 11, 5, dtype=torch.float64)
    mask = MASK[:2].expand(3, -1, -1)
    weights, _ = stack_module_state(members)
    run = vmap(lambda own, given, real: functional_call(members[0], own, (given, real))[0])
    together = run(weights, x, mask)
    with torch.no_grad():
        torch.testing.assert_close(run(weights, x, mask), together)
    together[mask].square().sum().backward()
    for n, member in enumerate(members):
        alone = member(x[n], mask[n])[0]
        alone[mask[n]].square().sum().backward()
        torch.testing.assert_close(together[n][mask[n]], alone[mask[n]])
        for name, weight in member.named_parameters():
            torch.testing.assert_close(weights[name].grad[n], weight.grad)


def test_a_video_is_reversed_within_its_length() -> None:
    x = torch.tensor([[1, 2, 3, 0], [4, 5, 6, 7]]).unsqueeze(-1)
    mask = torch.tensor([[True, True, True, False], [True] * 4])
    assert reversed_in_time(x, mask).squeeze(-1).tolist() == [[3, 2, 1, 0], [7, 6, 5, 4]]

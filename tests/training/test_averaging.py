"""The mean of a model's last weights."""

import copy

import pytest
import torch
from torch import Tensor, nn

from regard.training.averaging import Average


def model() -> nn.Module:
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(3, 5), nn.BatchNorm1d(5))


def weights(model: nn.Module) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in model.state_dict().items()}


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def moved(network: nn.Module) -> None:
    with torch.no_grad():
        for parameter in network.parameters():
            parameter += torch.randn_like(parameter) / 3
    network(torch.randn(7, 3))  # batch norm's own numbers and its count move too


def remembered(size: int, count: int) -> tuple[Average, nn.Module, list[dict[str, Tensor]]]:
    average, network, all_of_them = Average(size), model(), []
    for _ in range(count):
        moved(network)
        average.add(network)
        all_of_them.append(weights(network))
    return average, network, all_of_them


def test_the_mean_of_the_last_few_is_applied() -> None:
    average, network, before = remembered(3, 5)
    with average.applied(network):
        for name, tensor in network.state_dict().items():
            last = [one[name] for one in before[-3:]]
            if tensor.is_floating_point():
                assert torch.allclose(tensor, sum(last[1:], last[0]) / 3)
            else:
                assert torch.equal(tensor, last[-1])


def test_afterwards_the_model_has_its_own_weights_bit_for_bit() -> None:
    average, network, _ = remembered(3, 5)
    moved(network)
    own = weights(network)
    with average.applied(network):
        assert not same(weights(network), own)
    assert same(weights(network), own)


def test_after_a_failure_the_model_has_its_own_weights_too() -> None:
    average, network, _ = remembered(2, 2)
    own = weights(network)
    with pytest.raises(KeyboardInterrupt), average.applied(network):
        raise KeyboardInterrupt
    assert same(weights(network), own)


def test_the_parameters_stay_the_same_objects() -> None:
    average, network, _ = remembered(2, 3)
    before = list(network.parameters())
    with average.applied(network):
        assert all(one is other for one, other in zip(network.parameters(), before, strict=True))
    assert all(one is other for one, other in zip(network.parameters(), before, strict=True))


def test_what_is_remembered_does_not_move_with_the_model() -> None:
    average, network, before = remembered(2, 2)
    moved(network)
    assert all(same(one, other) for one, other in zip(average.recent, before, strict=True))


@pytest.mark.parametrize(("size", "count"), [(1, 5), (3, 0), (3, 1)])
def test_where_there_is_nothing_to_average_nothing_changes(size: int, count: int) -> None:
    average, network, _ = remembered(size, count)
    own = weights(network)
    with average.applied(network):
        assert same(weights(network), own)
    assert len(average.recent) == (0 if size == 1 else count)


def test_a_size_of_one_keeps_nothing() -> None:
    average, _, _ = remembered(1, 3)
    assert average.recent == []


def test_adding_does_not_change_the_model() -> None:
    average, network = Average(3), model()
    own = copy.deepcopy(network.state_dict())
    average.add(network)
    assert same(weights(network), own)

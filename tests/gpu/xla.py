#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""JAX on a GPU: functions that XLA compiles, their derivatives, libraries that it calls, and memory of the
host that it pins. What is said is the same wherever it runs."""

import jax
import jax.numpy as jnp
import numpy


def compiled():
    """A function that is compiled once, by the machine's own ptxas."""
    function = jax.jit(lambda a, b: jnp.tanh(a @ b).sum())
    a = numpy.random.default_rng(1).random((128, 128), dtype=numpy.float32) / 64
    print("compiled", numpy.allclose(function(a, a), numpy.tanh(a @ a).sum(), rtol=1e-3), flush=True)


def learnt():
    """Weights of a line, by its derivatives."""
    x = jnp.linspace(-1, 1, 256)
    y = 3 * x + 0.5

    def loss(weights):
        return ((weights[0] * x + weights[1] - y) ** 2).mean()

    def step(_, weights):
        return weights - 0.5 * jax.grad(loss)(weights)

    weights = jax.jit(lambda start: jax.lax.fori_loop(0, 200, step, start))(jnp.zeros(2))
    print("learnt", [round(float(weight), 3) for weight in weights], flush=True)


def libraries():
    """What XLA leaves to libraries, and to kernels of its own."""
    host = numpy.random.default_rng(2).random((64, 64), dtype=numpy.float32)
    device = jnp.asarray(host)
    print("transform", numpy.allclose(jnp.fft.fft2(device), numpy.fft.fft2(host), rtol=1e-3, atol=1e-2), flush=True)
    print("sorted", bool((numpy.sort(host.ravel()) == numpy.asarray(jnp.sort(device.ravel()))).all()), flush=True)
    print("solved", numpy.allclose(jnp.linalg.solve(device, device @ device), host, atol=0.05), flush=True)
    print("random", jax.random.uniform(jax.random.key(3), (3,)).tolist(), flush=True)


def pinned():
    """An array that lies in pinned memory of the host, and comes back."""
    device = jax.devices()[0]
    array = jax.device_put(jnp.arange(1 << 16), jax.sharding.SingleDeviceSharding(device, memory_kind="pinned_host"))
    back = jax.device_put(array, jax.sharding.SingleDeviceSharding(device, memory_kind="device")) + 1
    print("pinned", array.sharding.memory_kind, bool((numpy.asarray(back) == numpy.arange(1, (1 << 16) + 1)).all()), flush=True)


if __name__ == "__main__":
    print(jax.__version__, jax.default_backend(), jax.devices()[0].device_kind, flush=True)
    for part in (compiled, learnt, libraries, pinned):
        try:
            part()
        except Exception as error:    # pylint: disable=broad-exception-caught
            print(part.__name__, "fails:", type(error).__name__, str(error).splitlines()[:1], flush=True)

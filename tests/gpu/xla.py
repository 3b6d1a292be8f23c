#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Runs JAX on a GPU: functions that XLA compiles, their derivatives, NVIDIA's libraries, and pinned
memory. Its output is the same natively and in a guest."""

import jax
import jax.numpy as jnp
import numpy


def compiled():
    """Runs a function that is compiled by the machine's own ptxas."""
    function = jax.jit(lambda a, b: jnp.tanh(a @ b).sum())
    a = numpy.random.default_rng(1).random((128, 128), dtype=numpy.float32) / 64
    print("compiled", numpy.allclose(function(a, a), numpy.tanh(a @ a).sum(), rtol=1e-3), flush=True)


def learnt():
    """Finds the weights of a line by derivatives."""
    x = jnp.linspace(-1, 1, 256)
    y = 3 * x + 0.5

    def loss(weights):
        return ((weights[0] * x + weights[1] - y) ** 2).mean()

    def step(_, weights):
        return weights - 0.5 * jax.grad(loss)(weights)

    weights = jax.jit(lambda start: jax.lax.fori_loop(0, 200, step, start))(jnp.zeros(2))
    print("learnt", [round(float(weight), 3) for weight in weights], flush=True)


def libraries():
    """Runs operations for which XLA uses libraries, or kernels of its own."""
    host = numpy.random.default_rng(2).random((64, 64), dtype=numpy.float32)
    device = jnp.asarray(host)
    print("transform", numpy.allclose(jnp.fft.fft2(device), numpy.fft.fft2(host), rtol=1e-3, atol=1e-2), flush=True)
    print("sorted", bool((numpy.sort(host.ravel()) == numpy.asarray(jnp.sort(device.ravel()))).all()), flush=True)
    print("solved", numpy.allclose(jnp.linalg.solve(device, device @ device), host, atol=0.05), flush=True)
    print("random", jax.random.uniform(jax.random.key(3), (3,)).tolist(), flush=True)


def pinned():
    """Copies an array to pinned memory of the host and back."""
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

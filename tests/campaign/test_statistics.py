from __future__ import annotations

import numpy as np

from hinge.campaign.statistics import Statistics, merged, statistics


def parts(rng, count=10_000, size=997):
    x = {"a": rng.standard_normal(count), "b": rng.exponential(size=count), "c": np.full(count, 3.0)}
    x["b"][::7] = np.nan
    return x, [statistics({n: v[k : k + size] for n, v in x.items()}) for k in range(0, count, size)]


def test_merged_statistics_are_those_of_all():
    x, given = parts(np.random.default_rng(0))
    found = merged(given)
    assert found is not None
    for k, v in enumerate(x.values()):
        good = v[np.isfinite(v)]
        assert found.count[k] == len(good)
        assert np.allclose([found.mean[k], found.sd[k]], [good.mean(), good.std(ddof=1)], rtol=1e-12)
        assert (found.least[k], found.most[k]) == (good.min(), good.max())
    whole = np.stack(list(x.values()), 1)
    whole = whole[np.isfinite(whole).all(1)]
    assert np.allclose(found.covariance, np.cov(whole.T), atol=1e-12)


def test_quantiles_are_near_those_of_all_samples_and_best_at_the_ends():
    x, given = parts(np.random.default_rng(1))
    found = merged(given)
    assert found is not None
    for name in ("a", "b"):
        good = np.sort(x[name][np.isfinite(x[name])])
        for share, most in ((0.001, 5e-4), (0.01, 1e-3), (0.5, 1e-2), (0.99, 1e-3), (0.999, 5e-4)):
            at = float(found.quantile(name, share))
            assert abs(np.searchsorted(good, at) / len(good) - share) < most, (name, share)
    assert found.quantile("c", 0.3) == 3.0


def test_bytes_come_back_and_are_the_same_each_time():
    _, given = parts(np.random.default_rng(2))
    assert Statistics.read(given[0].bytes()).bytes() == given[0].bytes()


def test_nothing_finite_has_no_statistics():
    found = statistics({"a": np.full(5, np.nan)})
    assert found.count[0] == 0
    assert np.isnan(found.quantile("a", 0.5))
    assert np.isnan(found.sd[0])

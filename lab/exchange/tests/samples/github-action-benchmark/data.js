window.BENCHMARK_DATA = {
  "lastUpdate": 1767711600000,
  "repoUrl": "https://example.org/sums",
  "entries": {
    "Rust": [
      {
        "commit": {
          "author": {
            "email": "a@example.org",
            "name": "A",
            "username": "a"
          },
          "committer": {
            "email": "a@example.org",
            "name": "A",
            "username": "a"
          },
          "distinct": true,
          "id": "0101010101010101010101010101010101010101",
          "message": "change 1",
          "timestamp": "2026-01-05T12:00:00+01:00",
          "tree_id": "4141414141414141414141414141414141414141",
          "url": "https://example.org/sums/commit/0101010101010101010101010101010101010101"
        },
        "date": 1767610800000,
        "tool": "cargo",
        "benches": [
          {
            "name": "sum_of_ten",
            "value": 135,
            "range": "± 24",
            "unit": "ns/iter"
          },
          {
            "name": "sum_of_many",
            "value": 13500,
            "range": "± 310",
            "unit": "ns/iter"
          }
        ]
      },
      {
        "commit": {
          "author": {
            "email": "a@example.org",
            "name": "A",
            "username": "a"
          },
          "committer": {
            "email": "a@example.org",
            "name": "A",
            "username": "a"
          },
          "distinct": true,
          "id": "0202020202020202020202020202020202020202",
          "message": "change 2",
          "timestamp": "2026-01-06T12:00:00+01:00",
          "tree_id": "4242424242424242424242424242424242424242",
          "url": "https://example.org/sums/commit/0202020202020202020202020202020202020202"
        },
        "date": 1767697200000,
        "tool": "cargo",
        "benches": [
          {
            "name": "sum_of_ten",
            "value": 140,
            "range": "± 24",
            "unit": "ns/iter"
          },
          {
            "name": "sum_of_many",
            "value": 14000,
            "range": "± 310",
            "unit": "ns/iter"
          }
        ]
      },
      {
        "commit": {
          "author": {
            "email": "a@example.org",
            "name": "A",
            "username": "a"
          },
          "committer": {
            "email": "a@example.org",
            "name": "A",
            "username": "a"
          },
          "distinct": true,
          "id": "0303030303030303030303030303030303030303",
          "message": "change 3",
          "timestamp": "2026-01-07T12:00:00+01:00",
          "tree_id": "4343434343434343434343434343434343434343",
          "url": "https://example.org/sums/commit/0303030303030303030303030303030303030303"
        },
        "date": 1767783600000,
        "tool": "cargo",
        "benches": [
          {
            "name": "sum_of_ten",
            "value": 145,
            "range": "± 24",
            "unit": "ns/iter"
          },
          {
            "name": "sum_of_many",
            "value": 14500,
            "range": "± 310",
            "unit": "ns/iter"
          }
        ]
      }
    ],
    "Sizes": [
      {
        "commit": {
          "author": {
            "email": "a@example.org",
            "name": "A",
            "username": "a"
          },
          "committer": {
            "email": "a@example.org",
            "name": "A",
            "username": "a"
          },
          "distinct": true,
          "id": "0101010101010101010101010101010101010101",
          "message": "change 1",
          "timestamp": "2026-01-05T12:00:00+01:00",
          "tree_id": "4141414141414141414141414141414141414141",
          "url": "https://example.org/sums/commit/0101010101010101010101010101010101010101"
        },
        "date": 1767610860000,
        "tool": "customSmallerIsBetter",
        "benches": [
          {
            "name": "program",
            "value": 41,
            "unit": "KiB"
          },
          {
            "name": "score",
            "value": 20.5,
            "unit": "points",
            "range": "±1.5%",
            "extra": "of 100"
          }
        ]
      },
      {
        "commit": {
          "author": {
            "email": "a@example.org",
            "name": "A",
            "username": "a"
          },
          "committer": {
            "email": "a@example.org",
            "name": "A",
            "username": "a"
          },
          "distinct": true,
          "id": "0202020202020202020202020202020202020202",
          "message": "change 2",
          "timestamp": "2026-01-06T12:00:00+01:00",
          "tree_id": "4242424242424242424242424242424242424242",
          "url": "https://example.org/sums/commit/0202020202020202020202020202020202020202"
        },
        "date": 1767697260000,
        "tool": "customSmallerIsBetter",
        "benches": [
          {
            "name": "program",
            "value": 42,
            "unit": "KiB"
          },
          {
            "name": "score",
            "value": 21.0,
            "unit": "points",
            "range": "±1.5%",
            "extra": "of 100"
          }
        ]
      },
      {
        "commit": {
          "author": {
            "email": "a@example.org",
            "name": "A",
            "username": "a"
          },
          "committer": {
            "email": "a@example.org",
            "name": "A",
            "username": "a"
          },
          "distinct": true,
          "id": "0303030303030303030303030303030303030303",
          "message": "change 3",
          "timestamp": "2026-01-07T12:00:00+01:00",
          "tree_id": "4343434343434343434343434343434343434343",
          "url": "https://example.org/sums/commit/0303030303030303030303030303030303030303"
        },
        "date": 1767783660000,
        "tool": "customSmallerIsBetter",
        "benches": [
          {
            "name": "program",
            "value": 43,
            "unit": "KiB"
          },
          {
            "name": "score",
            "value": 21.5,
            "unit": "points",
            "range": "±1.5%",
            "extra": "of 100"
          }
        ]
      }
    ]
  }
}
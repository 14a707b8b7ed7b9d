// SPDX-License-Identifier: GPL-3.0-or-later
// Bytes and rounds of every all-reduce, by the formulas of its source. S: bytes of the buffer, c:
// bytes of a chunk.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <numeric>

#include "core/check/check.h"
#include "tests/core/collective/one_bucket.h"
#include "tests/core/collective/star_of.h"

namespace trainyard::collective {
namespace {

constexpr std::int64_t kElementBytes = 4;

struct Case {
  int hosts = 1, devices = 1;
  std::int64_t elements = 0;
  int n() const { return hosts * devices; }
  std::int64_t whole() const { return kElementBytes * elements; }
  // Bytes of chunk `chunk` (counted around) of `chunks`; of `width` chunks from the piece that
  // begins at `first`.
  std::int64_t c(int chunks, int chunk) const {
    return kElementBytes * part(elements, chunks, (chunk % chunks + chunks) % chunks).second;
  }
  std::int64_t piece(int chunks, int first, int width) const {
    std::int64_t bytes = 0;
    for (int i = 0; i < width; ++i) bytes += c(chunks, first + i);
    return bytes;
  }
};

int log2_floor(int n) { return static_cast<int>(std::bit_width(static_cast<unsigned>(n))) - 1; }

std::int64_t halving_doubling_bytes(const Case& k, int rank) {
  const int m = 1 << log2_floor(k.n()), extra = k.n() - m;
  if (rank < 2 * extra && rank % 2 == 0) return k.whole();
  const int i = rank < 2 * extra ? rank / 2 : rank - extra;
  std::int64_t bytes = k.whole() - k.c(m, i) + (rank < 2 * extra ? k.whole() : 0);
  for (int held = 1; held < m; held *= 2) bytes += k.piece(m, i / held * held, held);
  return bytes;
}

// Sends what it holds to the parent, and the result to each child.
std::int64_t binary_tree_bytes(const Case& k, int rank) {
  const int children = (2 * rank + 1 < k.n() ? 1 : 0) + (2 * rank + 2 < k.n() ? 1 : 0);
  return (children + (rank == 0 ? 0 : 1)) * k.whole();
}

// Two trees with half of the buffer each. In the first, position p hangs on p with its lowest bit b
// moved up to 2 b, where that is in the group, else on p - b; the second is the first seen from
// position n - 1 - p, or p - 1 where n is odd.
std::int64_t double_tree_bytes(const Case& k, int rank) {
  const int n = k.n();
  const auto parent = [n](int p) {
    const int lowest = p & -p, without = p - lowest, above = without | (2 * lowest);
    return above < n ? above : without;
  };
  std::int64_t bytes = 0;
  for (const int tree : {0, 1}) {
    const auto seen = [&](int p) {
      return tree == 0 ? p : n % 2 == 0 ? n - 1 - p : (p + n - 1) % n;
    };
    int neighbors = seen(rank) == 0 ? 0 : 1;
    for (int p = 0; p < n; ++p)
      if (seen(p) != 0 && parent(seen(p)) == seen(rank)) ++neighbors;
    bytes += neighbors * k.c(2, tree);
  }
  return bytes;
}

std::int64_t leader_bytes(const Case& k, int rank) {
  const int host = rank / k.devices;
  if (rank % k.devices != 0) return k.whole();
  const std::int64_t ring =
      k.hosts == 1 ? 0 : 2 * k.whole() - k.c(k.hosts, host) - k.c(k.hosts, host + 1);
  return (k.devices - 1) * k.whole() + ring;
}

std::int64_t sharded_bytes(const Case& k, int rank) {
  const int n = k.n(), h = k.hosts, g = k.devices, host = rank / g, own = rank % g * h;
  const std::int64_t share = k.piece(n, own, h);
  const std::int64_t between =
      h == 1 ? 0 : 2 * share - k.c(n, own + host) - k.c(n, own + (host + 1) % h);
  return k.whole() - share + (g - 1) * share + between;
}

std::int64_t torus_bytes(const Case& k, const Formation& formation, int rank) {
  const int n = k.n(), a = formation.columns, b = formation.rows(), row = rank / a,
            column = rank % a;
  const std::int64_t own = k.piece(n, column * b, b), next = k.piece(n, (column + 1) % a * b, b);
  const std::int64_t along_row = a == 1 ? 0 : 2 * k.whole() - own - next;
  const std::int64_t along_column =
      b == 1 ? 0 : 2 * own - k.c(n, column * b + row) - k.c(n, column * b + (row + 1) % b);
  return along_row + along_column;
}

std::int64_t formula(Algorithm algorithm, const Case& k, const Formation& formation, int rank) {
  const int n = k.n();
  if (n == 1) return 0;
  switch (algorithm) {
    case Algorithm::ring: return 2 * k.whole() - k.c(n, rank) - k.c(n, rank + 1);
    case Algorithm::direct: return k.whole() - k.c(n, rank) + (n - 1) * k.c(n, rank);
    case Algorithm::halving_doubling: return halving_doubling_bytes(k, rank);
    case Algorithm::binary_tree: return binary_tree_bytes(k, rank);
    case Algorithm::double_binary_tree: return double_tree_bytes(k, rank);
    case Algorithm::star: return rank == 0 ? (n - 1) * k.whole() : k.whole();
    case Algorithm::all_to_all: return (n - 1) * k.whole();
    case Algorithm::leader_hierarchical: return leader_bytes(k, rank);
    case Algorithm::sharded_hierarchical: return sharded_bytes(k, rank);
    case Algorithm::torus: return torus_bytes(k, formation, rank);
    case Algorithm::automatic: break;
  }
  return -1;
}

class Bytes : public testing::TestWithParam<Algorithm> {
 protected:
  static void expect_formula(const Case& k) {
    const Method method = on_hosts(GetParam(), k.hosts, k.devices);
    const check::ProgramTraffic train =
        check::examine(one_bucket_expanded(method, k.n(), k.elements)).traffic.at(0);
    std::int64_t total = 0;
    for (int rank = 0; rank < k.n(); ++rank) {
      const std::int64_t sent = train.bytes_from(rank);
      EXPECT_EQ(sent, formula(GetParam(), k, formation(method.hosts), rank))
          << k.hosts << "x" << k.devices << ", rank " << rank << ", " << k.elements;
      if (GetParam() == Algorithm::double_binary_tree) {
        EXPECT_LE(sent, 2 * k.whole() + (k.elements % 2 == 0 ? 0 : kElementBytes));
      }
      total += sent;
    }
    const int n = k.n(), least = 2 * (n - 1);
    EXPECT_EQ(total, (GetParam() == Algorithm::all_to_all ? n * (n - 1) : least) * k.whole());
  }
};
INSTANTIATE_TEST_SUITE_P(All, Bytes, testing::ValuesIn(kAlgorithms),
                         [](const auto& row) { return std::string(base::name_of(row.param)); });

TEST_P(Bytes, equal_the_formula_for_1_to_9_members) {
  for (int n = 1; n <= 9; ++n)
    for (const std::int64_t elements : {0, 1, n - 1, n, 100, 101, 9973})
      expect_formula({1, n, elements});
}

TEST_P(Bytes, equal_the_formula_over_hosts) {
  for (const auto& [hosts, devices] : {std::pair{2, 2}, {2, 3}, {3, 2}, {4, 2}})
    for (const std::int64_t elements : {0, 1, 5, 24, 101, 9973})
      expect_formula({hosts, devices, elements});
}

TEST(Bytes, do_not_depend_on_segments) {
  for (const Algorithm algorithm : kAlgorithms) {
    Method method(algorithm);
    method.segment_bytes = 60;
    std::int64_t total = 0;
    const auto train = check::examine(one_bucket_expanded(method, 5, 101)).traffic.at(0);
    for (int rank = 0; rank < 5; ++rank) total += train.bytes_from(rank);
    EXPECT_EQ(total, (algorithm == Algorithm::all_to_all ? 20 : 8) * 404)
        << base::name_of(algorithm);
  }
}

// Number of rounds for n members on one host by algorithm, in the plan and in the cost model.
TEST(Rounds, equal_the_formula) {
  for (int n = 2; n <= 33; ++n) {
    const auto rounds = [&](Algorithm algorithm) {
      const int counted = check::examine(one_bucket_expanded(on_hosts(algorithm, 1, n), n, 4 * n))
                              .traffic.at(0)
                              .rounds;
      EXPECT_EQ(Drawn(1, n).of(algorithm, 4 * n).rounds, counted)
          << base::name_of(algorithm) << " of " << n;
      return counted;
    };
    const int log2 = log2_floor(n), power = std::has_single_bit(static_cast<unsigned>(n)) ? 0 : 2;
    EXPECT_EQ(rounds(Algorithm::ring), 2 * (n - 1));
    EXPECT_EQ(rounds(Algorithm::direct), 2);
    EXPECT_EQ(rounds(Algorithm::halving_doubling), 2 * log2 + power);
    EXPECT_EQ(rounds(Algorithm::binary_tree), 2 * log2);
    EXPECT_LE(rounds(Algorithm::double_binary_tree), 2 * (log2 + 1));
    EXPECT_EQ(rounds(Algorithm::star), 2);
    EXPECT_EQ(rounds(Algorithm::all_to_all), 1);
    EXPECT_EQ(rounds(Algorithm::leader_hierarchical), 2);
    EXPECT_EQ(rounds(Algorithm::sharded_hierarchical), 2);
    const Formation grid = formation(n);
    EXPECT_EQ(rounds(Algorithm::torus), 2 * (grid.columns - 1) + 2 * (grid.rows() - 1));
  }
}

TEST(Rounds, of_hierarchies_are_those_of_a_ring_of_hosts_plus_two) {
  const auto rounds = [](Algorithm algorithm) {
    return program(Collective::all_reduce, algorithm, formation({0, 0, 1, 1, 2, 2, 3, 3}), 1, 0)
        .size();
  };
  EXPECT_EQ(rounds(Algorithm::leader_hierarchical), 2u * 3 + 2);
  EXPECT_EQ(rounds(Algorithm::sharded_hierarchical), 2u * 3 + 2);
}

}  // namespace
}  // namespace trainyard::collective

// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/collective/algorithm.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <numeric>

#include "core/collective/member_ring.h"

namespace trainyard::collective {
namespace {

Rounds all_reduce(Algorithm algorithm, const Formation& formation, int position) {
  switch (algorithm) {
    case Algorithm::ring: return ring(formation, position);
    case Algorithm::direct: return direct(formation, position);
    case Algorithm::halving_doubling: return halving_doubling(formation, position);
    case Algorithm::binary_tree: return binary_tree(formation, position);
    case Algorithm::double_binary_tree: return double_binary_tree(formation, position);
    case Algorithm::star: return star(formation, position);
    case Algorithm::all_to_all: return all_to_all(formation, position);
    case Algorithm::leader_hierarchical: return leader_hierarchical(formation, position);
    case Algorithm::sharded_hierarchical: return sharded_hierarchical(formation, position);
    case Algorithm::torus: return torus(formation, position);
    case Algorithm::automatic: break;
  }
  return {};
}

int all_reduce_chunks(Algorithm algorithm, const Formation& formation) {
  switch (algorithm) {
    case Algorithm::binary_tree:
    case Algorithm::star:
    case Algorithm::all_to_all: return 1;
    case Algorithm::double_binary_tree: return 2;
    case Algorithm::halving_doubling:
      return static_cast<int>(std::bit_floor(static_cast<unsigned>(formation.members)));
    case Algorithm::leader_hierarchical: return static_cast<int>(formation.hosts.size());
    case Algorithm::ring:
    case Algorithm::direct:
    case Algorithm::sharded_hierarchical:
    case Algorithm::torus: return formation.members;
    case Algorithm::automatic: break;
  }
  return 1;
}

}  // namespace

Algorithm program_algorithm(Collective collective, Algorithm algorithm) {
  switch (collective) {
    case Collective::all_reduce: return algorithm;
    case Collective::reduce_scatter:
    case Collective::all_gather:
      return algorithm == Algorithm::ring ? algorithm : Algorithm::direct;
    case Collective::broadcast:
    case Collective::reduce: {
      const bool at_once = algorithm == Algorithm::star || algorithm == Algorithm::direct ||
                           algorithm == Algorithm::all_to_all;
      return at_once ? Algorithm::star : Algorithm::binary_tree;
    }
    case Collective::scatter:
    case Collective::gather: return Algorithm::direct;
  }
  return algorithm;
}

Rounds program(Collective collective, Algorithm algorithm, const Formation& formation, int position,
               int root) {
  switch (collective) {
    case Collective::all_reduce: return all_reduce(algorithm, formation, position);
    case Collective::reduce_scatter: return reduce_scatter(algorithm, formation, position);
    case Collective::all_gather: return all_gather(algorithm, formation, position);
    case Collective::broadcast: return broadcast(algorithm, formation, position, root);
    case Collective::reduce: return reduce(algorithm, formation, position, root);
    case Collective::scatter: return scatter(formation, position, root);
    case Collective::gather: return gather(formation, position, root);
  }
  return {};
}

int chunks(Collective collective, Algorithm algorithm, const Formation& formation) {
  if (collective == Collective::all_reduce) return all_reduce_chunks(algorithm, formation);
  return is_sharded(collective) ? formation.members : 1;
}

int segments(std::int64_t elements, int element_bytes, std::int64_t segment_bytes) {
  if (segment_bytes <= 0 || elements <= 0) return 1;
  const std::int64_t elements_each = std::max<std::int64_t>(1, segment_bytes / element_bytes);
  return static_cast<int>(std::min(kMaxSegments, (elements + elements_each - 1) / elements_each));
}

std::string_view description(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::ring:
      return "Reduce-scatter, then all-gather around a ring: minimum bytes, 2(n-1) rounds";
    case Algorithm::direct:
      return "Pairwise reduce-scatter, then all-gather, in which each rank sums one share: minimum "
             "bytes, 2 rounds, all links at once";
    case Algorithm::halving_doubling:
      return "Reduce-scatter by recursive halving, then all-gather by doubling: minimum bytes, 2 "
             "log2 n rounds; if n is not a power of 2, extra ranks first send their bucket to "
             "another rank";
    case Algorithm::binary_tree:
      return "Reduce up a binary tree, then broadcast down it: 2 log2 n rounds, an inner rank "
             "sends 3 times the bucket";
    case Algorithm::double_binary_tree:
      return "Reduce and broadcast half of the bucket over each of two binary trees: 2 log2 n "
             "rounds, no rank sends more than about twice the bucket";
    case Algorithm::star:
      return "Reduce to one rank, which sends the sum to all others (reduce to one device): 2 "
             "rounds, with the load on one rank";
    case Algorithm::all_to_all:
      return "Every rank sends its full bucket to every other rank and sums locally (naive): 1 "
             "round, n/2 times the bytes of ring or direct";
    case Algorithm::leader_hierarchical:
      return "Reduce to the leader of each host, a ring between leaders, then broadcast in each "
             "host: few bytes between hosts";
    case Algorithm::sharded_hierarchical:
      return "Reduce-scatter in each host, a ring between hosts for each share, then all-gather in "
             "each host: every device uses the network";
    case Algorithm::torus:
      return "Reduce-scatter along the rows of a grid, a ring along its columns, then all-gather "
             "along rows: minimum bytes, rings of neighbors";
    case Algorithm::automatic:
      return "Chooses the algorithm with the lowest cost for the bucket size on the drawn links";
  }
  return "";
}

bool fits(Algorithm algorithm, const Formation& formation) {
  return algorithm != Algorithm::automatic &&
         (algorithm != Algorithm::sharded_hierarchical || formation.even());
}

Rounds reduce_scatter(Algorithm algorithm, const Formation& formation, int position) {
  const MemberRing circle = full_ring(formation, position);
  return program_algorithm(Collective::reduce_scatter, algorithm) == Algorithm::ring
             ? ring_reduce_scatter(circle)
             : direct_reduce_scatter(circle);
}

Rounds all_gather(Algorithm algorithm, const Formation& formation, int position) {
  const MemberRing circle = full_ring(formation, position);
  return program_algorithm(Collective::all_gather, algorithm) == Algorithm::ring
             ? ring_all_gather(circle)
             : direct_all_gather(circle);
}

MemberRing full_ring(const Formation& formation, int position) {
  MemberRing circle{std::vector<int>(static_cast<std::size_t>(formation.members)), position, 0, 1};
  std::iota(circle.members.begin(), circle.members.end(), 0);
  return circle;
}

void append(Rounds& rounds, Rounds more) {
  rounds.insert(rounds.end(), std::make_move_iterator(more.begin()),
                std::make_move_iterator(more.end()));
}

}  // namespace trainyard::collective

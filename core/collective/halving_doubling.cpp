// SPDX-License-Identifier: GPL-3.0-or-later
// Recursive halving and doubling (Thakur, Rabenseifner and Gropp 2005; Goyal et al. 2017). Let m be
// the largest power of 2 that is at most n. The first 2 (n - m) members form pairs: the even member
// sends its full buffer to the odd member, and then waits for the result; the odd member adds the
// received buffer to its own. The m remaining members are renumbered. In the halving phase, at
// distance m/2, m/4 .. 1, a member sends its partner one half of the span that it holds and adds
// the other half, until it owns chunk i of m. The doubling phase runs the same exchanges in
// reverse. Rounds: 2 log2 m, plus 2 if there are pairs. A remaining member sends S - c[i] in the
// halving phase. In the doubling phase it sends all chunks that it holds before each round (1, 2, 4
// .. m/2). If m divides the number of elements, it sends 2 (m - 1)/m S in total, plus S to the even
// member of its pair.
#include <bit>

#include "core/collective/member_ring.h"

namespace trainyard::collective {
namespace {

struct FoldedGroup {
  int most;   // m: number of members in the halving and doubling phases
  int extra;  // n - m: number of pairs
  explicit FoldedGroup(int members)
      : most(static_cast<int>(std::bit_floor(static_cast<unsigned>(members)))),
        extra(members - most) {}

  bool paired(int position) const { return position < 2 * extra; }
  bool waits(int position) const { return paired(position) && position % 2 == 0; }
  int number(int position) const { return paired(position) ? position / 2 : position - extra; }
  int position(int number) const { return number < extra ? 2 * number + 1 : number + extra; }
};

// Returns the program of the remaining member `number`.
Rounds halve_and_double(const FoldedGroup& folded, int number) {
  Rounds halving, doubling;
  for (int distance = folded.most / 2; distance > 0; distance /= 2) {
    const int partner = number ^ distance, peer = folded.position(partner);
    // first chunk of the half that the member keeps, and first chunk of the half that it sends
    const int own = number / distance * distance, other = partner / distance * distance;
    halving.push_back(
        {{StepKind::send, peer, other, distance}, {StepKind::recv_reduce, peer, own, distance}});
    doubling.insert(doubling.begin(), {{StepKind::send, peer, own, distance},
                                       {StepKind::recv, peer, other, distance}});
  }
  append(halving, doubling);
  return halving;
}

}  // namespace

Rounds halving_doubling(const Formation& formation, int position) {
  const FoldedGroup folded(formation.members);
  if (folded.waits(position)) {
    Rounds rounds(
        static_cast<std::size_t>(2 * std::countr_zero(static_cast<unsigned>(folded.most)) + 2));
    rounds.front() = {{StepKind::send, position + 1, 0, folded.most}};
    rounds.back() = {{StepKind::recv, position + 1, 0, folded.most}};
    return rounds;
  }
  Rounds rounds;
  if (folded.extra > 0) rounds.emplace_back();
  append(rounds, halve_and_double(folded, folded.number(position)));
  if (folded.extra > 0) rounds.emplace_back();
  if (folded.paired(position)) {
    rounds.front() = {{StepKind::recv_reduce, position - 1, 0, folded.most}};
    rounds.back() = {{StepKind::send, position - 1, 0, folded.most}};
  }
  return rounds;
}

}  // namespace trainyard::collective

// SPDX-License-Identifier: GPL-3.0-or-later
// Proves freedom from data races with vector clocks over the lanes of all ranks. A clock records
// which events happen before an event. The order is defined by the following rules.
//
// An op starts after its dependencies have ended. It also starts after the earlier ops of its lane
// have ended, except the ops of the same round. A receive also starts after its send has started,
// because it changes nothing before that.
//
// An op ends after it has started. A send also ends after its receive has ended. A collective also
// ends after it has started on all members. The ends on different members are not ordered.
//
// Two ops of a rank race if they access the same element, one of them writes it, and the end of the
// earlier op in the rehearsal does not come before the start of the later one. A send reads its
// span from the start to the end of the send, because the peer reads the span in place. Peers
// access no other data, so only ops of one rank are compared.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <tuple>

#include "core/base/units.h"
#include "core/check/cells.h"
#include "core/check/clocks.h"
#include "core/check/proofs.h"

namespace trainyard::check {
namespace {

using At = plan::DryRun::At;
using plan::Access;
using plan::Dependency;
using plan::Op;
using plan::RankPlan;

struct RankState {
  explicit RankState(const RankPlan& rank) : cells(rank) {}
  std::size_t first_lane = 0;  // index of the rank's lane 0 among the lanes of all ranks
  Cells cells;
  std::vector<std::vector<std::int64_t>>
      round_start;                     // by lane and sequence number: first op of the same round
  std::vector<std::int32_t> instance;  // program instance of the next op, by lane
  std::int32_t steps_back = 0, forgotten = 0;
};

class Races {
 public:
  Races(const Scope& scope, Findings& findings)
      : scope_(scope), run_(scope.run), findings_(findings) {
    std::size_t lanes = 0;
    for (std::size_t r = 0; r < scope.ranks.size(); ++r) {
      RankState& state = ranks_.emplace_back(scope.ranks[r]);
      state.first_lane = lanes;
      lanes += scope.ranks[r].lanes.size();
      lay_out(state, r);
    }
    for (std::size_t l = 0; l < lanes; ++l) clocks_.emplace_back(lanes);
  }

  void run() {
    for (const auto& event : run_.events) {
      if (findings_.full(Proof::races)) return;
      event.completes ? complete(event) : post(event.at);
    }
  }

 private:
  void lay_out(RankState& state, std::size_t r) {
    const RankPlan& rank = scope_.ranks[r];
    for (const plan::Program& program : rank.programs)
      for (const Op& op : program.ops)
        for (const Dependency& dependency : op.after)
          state.steps_back = std::max(state.steps_back, dependency.steps_back);
    state.instance.assign(rank.lanes.size(), 0);
    for (std::size_t l = 0; l < rank.lanes.size(); ++l) {
      auto& starts = state.round_start.emplace_back();
      for (std::int64_t i = 0; i < static_cast<std::int64_t>(run_.places[r][l].size()); ++i) {
        const At at{static_cast<std::int32_t>(r), static_cast<std::int32_t>(l), i};
        starts.push_back(i > 0 && one_round(at, {at.rank, at.lane, i - 1}) ? starts.back() : i);
      }
    }
  }
  bool one_round(const At& a, const At& b) const {
    const Op &x = scope_.op(a), &y = scope_.op(b);
    return plan::communicates(x.kind) && plan::communicates(y.kind) && x.round >= 0 &&
           x.round == y.round && x.bucket == y.bucket &&
           run_.place(a).instance == run_.place(b).instance;
  }

  RankState& state(const At& at) { return ranks_[static_cast<std::size_t>(at.rank)]; }
  std::size_t number(const At& at) {
    return state(at).first_lane + static_cast<std::size_t>(at.lane);
  }
  std::int64_t round_start(const At& at) {
    return state(at)
        .round_start[static_cast<std::size_t>(at.lane)][static_cast<std::size_t>(at.sequence)];
  }

  Clock start_clock(const At& at) {
    Clock clock = clocks_[number(at)].after(round_start(at));
    const auto& bases = run_.base[static_cast<std::size_t>(at.rank)];
    for (const Dependency& dependency : scope_.op(at).after) {
      const std::int64_t target = run_.place(at).instance - dependency.steps_back;
      if (target < 0) continue;
      const std::size_t lane = dependency.lane.index();
      const auto all =
          static_cast<std::int64_t>(run_.places[static_cast<std::size_t>(at.rank)][lane].size());
      const std::int64_t base = bases[static_cast<std::size_t>(target)][lane];
      const std::int64_t next = static_cast<std::size_t>(target) + 1 < bases.size()
                                    ? bases[static_cast<std::size_t>(target) + 1][lane]
                                    : all;
      join(clock, clocks_[state(at).first_lane + lane].after(
                      dependency.sequence == Dependency::end
                          ? next
                          : std::min(next, base + dependency.sequence)));
    }
    return clock;
  }

  void post(const At& at) {
    Clock clock = start_clock(at);
    touch(at, clock);
    clocks_[number(at)].start(at.sequence) = std::move(clock);
  }

  void complete(const plan::DryRun::Event& event) {
    const At& at = event.at;
    const bool posted = plan::coarse(scope_.op(at).kind);
    Clock clock = posted ? clocks_[number(at)].start(at.sequence) : start_clock(at);
    for (const At& source : run_.sources_of(event))
      join(clock, clocks_[number(source)].start(source.sequence));
    if (!posted) touch(at, clock);
    if (!posted && round_start(at) == at.sequence)
      clock[number(at)] = static_cast<std::int32_t>(at.sequence + 1);
    for (const At& source : run_.sources_of(event)) finish(source, clock);
    finish(at, std::move(clock));
  }

  void finish(const At& at, Clock clock) {
    clocks_[number(at)].finish(at.sequence, std::move(clock), number(at));
    const auto& places =
        run_.places[static_cast<std::size_t>(at.rank)][static_cast<std::size_t>(at.lane)];
    const auto next = static_cast<std::size_t>(at.sequence) + 1;
    std::int32_t& instance = state(at).instance[static_cast<std::size_t>(at.lane)];
    const std::int32_t now =
        next < places.size()
            ? places[next].instance
            : static_cast<std::int32_t>(run_.base[static_cast<std::size_t>(at.rank)].size());
    if (now <= instance) return;
    instance = now;
    forget(state(at), at.rank);
  }

  // Drops vector clocks of old program instances, on which no later op of the rank can depend.
  void forget(RankState& state, std::int32_t rank) {
    const auto& bases = run_.base[static_cast<std::size_t>(rank)];
    const std::int32_t oldest =
        *std::min_element(state.instance.begin(), state.instance.end()) - state.steps_back - 1;
    if (oldest <= state.forgotten) return;
    state.forgotten = oldest;
    for (std::size_t l = 0; l < state.instance.size(); ++l)
      clocks_[state.first_lane + l].forget_before(bases[static_cast<std::size_t>(oldest)][l]);
  }

  void touch(const At& at, const Clock& clock) {
    RankState& s = state(at);
    const auto& place = run_.place(at);
    const OpSpans& spans = s.cells.of(run_.program(at.rank, place), place.op);
    for (const Span& span : spans.reads)
      for (std::size_t c = span.first; c < span.last; ++c) read(s, at, clock, span.buffer, c);
    for (const Span& span : spans.writes)
      for (std::size_t c = span.first; c < span.last; ++c) write(s, at, clock, span.buffer, c);
  }

  void read(RankState& s, const At& at, const Clock& clock, std::size_t buffer,
            std::size_t number) {
    Cell& cell = s.cells.cell(buffer, number);
    compare(s, at, clock, cell.write_lane, cell.write, buffer, number);
    std::int64_t& last = cell.reads[static_cast<std::size_t>(at.lane)];
    last = std::max(last, at.sequence);
  }

  void write(RankState& s, const At& at, const Clock& clock, std::size_t buffer,
             std::size_t number) {
    Cell& cell = s.cells.cell(buffer, number);
    compare(s, at, clock, cell.write_lane, cell.write, buffer, number);
    for (std::size_t l = 0; l < cell.reads.size(); ++l) {
      compare(s, at, clock, static_cast<std::int32_t>(l), cell.reads[l], buffer, number);
      cell.reads[l] = -1;
    }
    cell.write_lane = at.lane;
    cell.write = at.sequence;
  }

  void compare(const RankState& s, const At& at, const Clock& clock, std::int32_t lane,
               std::int64_t sequence, std::size_t buffer, std::size_t number) {
    if (sequence < 0 || clock[s.first_lane + static_cast<std::size_t>(lane)] > sequence ||
        (lane == at.lane && sequence == at.sequence))
      return;
    report(at, {at.rank, lane, sequence}, s.cells.range(buffer, number));
  }

  void report(const At& at, const At& other, const Access& range) {
    const auto &place = run_.place(at), &before = run_.place(other);
    if (!reported_
             .insert({at.rank, run_.program(at.rank, place), place.op,
                      run_.program(at.rank, before), before.op})
             .second)
      return;
    const int apart = place.instance - before.instance;
    const std::string when = apart == 0
                                 ? ""
                                 : fmt::format(" of {} {}", base::counted(std::abs(apart), "step"),
                                               apart > 0 ? "earlier" : "later");
    const auto& lanes = scope_.rank(at.rank).lanes;
    findings_.add(
        Proof::races, at,
        fmt::format(
            "the op accesses {} while {}{} may be running on another lane (lanes {} and {})",
            range_text(scope_.rank(at.rank), range), plan::token(scope_.op(other)), when,
            lanes[static_cast<std::size_t>(at.lane)].name,
            lanes[static_cast<std::size_t>(other.lane)].name),
        "overlapping accesses that are ordered, or that both only read",
        "Let the later op wait for the lane of the earlier op.");
  }

  const Scope& scope_;
  const plan::DryRun& run_;
  Findings& findings_;
  std::vector<RankState> ranks_;
  std::vector<LaneClocks> clocks_;
  std::set<std::tuple<std::int32_t, int, int, int, int>> reported_;
};

}  // namespace

void prove_no_races(const Scope& scope, Findings& findings) { Races(scope, findings).run(); }

}  // namespace trainyard::check

// SPDX-License-Identifier: GPL-3.0-or-later
// Checks the structure of parameter servers, whose programs start when messages arrive. Every
// parameter is on one server. A worker pushes the elements that its server receives, and pulls
// those that its server sends. For embedding tables, worker and server use the rows of one list.
// All servers have the same arrival rule. No worker waits forever under this rule, which is tested
// by simulating workers of different speeds.
//
// At run time the server itself ensures that no pull mixes two versions and that no gradient is
// overwritten while it is read. A push completes when the server has taken the gradient. An answer
// is sent from a parameter version that no update writes in the meantime (run/servers/server.h).
#include <fmt/core.h>

#include <algorithm>
#include <queue>

#include "core/base/units.h"
#include "core/check/proofs.h"

namespace trainyard::check {
namespace {

using plan::Op;
using plan::OpKind;
using plan::RankPlan;

// Transfer of a share of the parameters, as described by one end (the worker or the server).
struct End {
  // element counts; -1: no transfer. `pushed`: what a worker pushes and a server takes. `pulled`:
  // what a worker pulls and a server gives
  std::int64_t pushed = -1, pulled = -1;
  std::int64_t named = 0;  // maximum number of table rows in the list, if only listed rows are sent
  std::int64_t row = 1;
  plan::Access span;  // span of the share in the worker's parameters
};
using Ends = std::map<std::int32_t, End>;  // transfers by bucket

const plan::Program* program_of(const RankPlan& rank, std::string_view name) {
  const int number = rank.program(name);
  return number < 0 ? nullptr : &rank.programs[static_cast<std::size_t>(number)];
}

template <class Visit>
void for_each_share(const RankPlan& rank, std::string_view program, OpKind kind, Visit visit) {
  if (const plan::Program* found = program_of(rank, program))
    for (const Op& op : found->ops)
      if (op.kind == kind && op.bucket >= 0 && plan::carried(op) != nullptr)
        visit(op, *plan::carried(op));
}

Ends ends_of_worker(const RankPlan& rank, std::string_view trains) {
  Ends ends;
  for_each_share(rank, trains, OpKind::push, [&](const Op& op, const plan::Access& span) {
    ends[op.bucket].pushed = span.count;
  });
  for_each_share(rank, trains, OpKind::pack, [&](const Op& op, const plan::Access&) {
    ends[op.bucket].pushed = op.reads.front().count;
  });  // PACK determines the size of the push
  for_each_share(rank, "turn", OpKind::pull, [&](const Op& op, const plan::Access& span) {
    ends[op.bucket].pulled = span.count, ends[op.bucket].span = span;
  });
  for_each_share(rank, "turn", OpKind::push, [&](const Op& op, const plan::Access& list) {
    ends[op.bucket].named = list.count - plan::kListHeadSent;
  });
  for_each_share(rank, "turn", OpKind::pull,
                 [&](const Op& op, const plan::Access&) { ends[op.bucket].row = op.row; });
  return ends;
}

Ends ends_of_servers(const Scope& scope) {
  Ends ends;
  for (const RankPlan& rank : scope.ranks) {
    const std::int64_t lists = rank.rule ? std::max(1, rank.rule->workers) : 1;
    for_each_share(rank, "arrival", OpKind::take, [&](const Op& op, const plan::Access& span) {
      ends[op.bucket].pushed = span.count;
    });
    for_each_share(rank, "answer", OpKind::give, [&](const Op& op, const plan::Access& span) {
      ends[op.bucket].pulled = span.count;
    });
    for_each_share(rank, "named", OpKind::give, [&](const Op& op, const plan::Access& span) {
      ends[op.bucket].pulled = span.count, ends[op.bucket].row = op.row;
    });
    for_each_share(rank, "named", OpKind::take, [&](const Op& op, const plan::Access& list) {
      ends[op.bucket].named = list.count / lists - plan::kListHead;
    });
  }
  return ends;
}

std::string words(const End& end) {
  const auto text = [](std::int64_t elements) {
    return elements < 0 ? std::string("nothing") : base::counted(elements, "element");
  };
  const std::string rows = end.named > 0
                               ? fmt::format(", at most {} of {}", base::counted(end.named, "row"),
                                             base::counted(end.row, "element"))
                               : "";
  return fmt::format("push of {} and pull of {}{}", text(end.pushed), text(end.pulled), rows);
}

bool agree(const End& worker, const End& server) {
  return worker.pushed == server.pushed && worker.pulled == server.pulled &&
         worker.pushed == worker.pulled && worker.named == server.named && worker.row == server.row;
}

// Returns the part of a row list that the worker sends to the server: all elements except the first
// ones of the header, which are for the worker only (plan::kListHead).
plan::Access sent_part(plan::Access list) {
  constexpr std::int64_t kStays = plan::kListHead - plan::kListHeadSent;
  return {list.buffer, list.first + kStays, list.count - kStays};
}

// Checks an op that pulls or packs only listed table rows. Program "turn" must write the list from
// the samples of its round, and the list must be sent to the server. Packed rows must be pushed,
// and must belong to the same share of the gradient.
void prove_named(const RankPlan& rank, const plan::Program& program, const Op& op,
                 Findings& findings) {
  const auto expect_one = [&](const plan::Program* where, OpKind kind, const auto& fits,
                              const char* text, const char* expected) {
    const auto is = [&](const Op& other) {
      return other.kind == kind && other.bucket == op.bucket && fits(other);
    };
    if (where == nullptr || std::ranges::count_if(where->ops, is) != 1)
      findings.add(
          Proof::serving,
          FindingLocation{rank.rank, program.name, static_cast<int>(&op - program.ops.data())},
          text, expected, "");
  };
  const plan::Program* turn = program_of(rank, "turn");
  const plan::Access &first = op.reads.front(), &list = op.reads.back();
  if (op.kind == OpKind::pull || op.kind == OpKind::pack)
    expect_one(
        turn, OpKind::rows, [&](const Op& rows) { return rows.writes == std::vector{list}; },
        "the op uses a list of rows that the program \"turn\" does not write",
        "a list that exactly one ROWS op of the same share writes, in the program \"turn\"");
  if (op.kind == OpKind::pull)
    expect_one(
        &program, OpKind::push,
        [&](const Op& push) { return !push.named && push.reads.front() == sent_part(list); },
        "the op uses a list of rows that is not sent to the server",
        "one PUSH that sends this list");
  if (op.kind == OpKind::pack)
    expect_one(
        turn, OpKind::pull,
        [&](const Op& pull) {
          return pull.writes.front().first == first.first &&
                 pull.writes.front().count == first.count;
        },
        "the op packs rows of parameters that are not pulled",
        "a PACK of the share of the gradient whose parameters are pulled");
  if (op.kind == OpKind::push)
    expect_one(
        &program, OpKind::pack, [&](const Op& pack) { return pack.writes.front() == first; },
        "the op pushes rows that no op packs",
        "a PUSH of the output of the PACK of the same share");
}

void prove_lists(const RankPlan& rank, Findings& findings) {
  for (const plan::Program& program : rank.programs)
    for (const Op& op : program.ops)
      if (op.named) prove_named(rank, program, op, findings);
}

void match(const RankPlan& rank, std::string_view program, const Ends& servers,
           Findings& findings) {
  const Ends ends = ends_of_worker(rank, program);
  for (const auto& [bucket, at_server] : servers) {
    const auto at = ends.find(bucket);
    const End end = at == ends.end() ? End{} : at->second;
    if (agree(end, at_server)) continue;
    findings.add(Proof::serving, FindingLocation{rank.rank, std::string(program), -1},
                 fmt::format("the worker has a {} for share {}", words(end), bucket),
                 fmt::format("the same numbers of elements as on the server, which has a {}",
                             words(at_server)),
                 "");
  }
  for (const auto& [bucket, end] : ends)
    if (!servers.contains(bucket))
      findings.add(Proof::serving, FindingLocation{rank.rank, std::string(program), -1},
                   fmt::format("no server has share {}", bucket), "shares of a server", "");
}

// Checks that the pulls cover all parameters, each element once.
void cover(const RankPlan& rank, Findings& findings) {
  std::vector<plan::Access> spans;
  for (const auto& [bucket, end] : ends_of_worker(rank, "train")) spans.push_back(end.span);
  std::sort(spans.begin(), spans.end(),
            [](const plan::Access& a, const plan::Access& b) { return a.first < b.first; });
  std::int64_t end = 0;
  for (const plan::Access& span : spans) {
    if (span.first != end)
      return findings.add(
          Proof::serving, FindingLocation{rank.rank, "turn", -1},
          fmt::format("the worker {} parameters {}:{}{}",
                      span.first > end ? "does not pull" : "pulls", std::min(span.first, end),
                      std::max(span.first, end), span.first > end ? "" : " twice"),
          "every parameter, once", "");
    end += span.count;
  }
  const plan::BufferId parameters = rank.buffer("params");
  const std::int64_t all = parameters.valid() ? rank.buffers[parameters.index()].elements : 0;
  if (end != all)
    findings.add(Proof::serving, FindingLocation{rank.rank, "turn", -1},
                 fmt::format("the worker pulls {} of {}", end, base::counted(all, "parameter")),
                 "all parameters", "");
}

bool sound(const plan::ArrivalRule& rule) {
  return rule.workers >= 1 && rule.gradients_per_update >= 1 &&
         rule.gradients_per_update <= rule.workers &&
         (rule.clock_bound < 0 || !rule.answers_after_update);
}

// Simulates the arrival rule with workers of different speeds. Returns true if the workers together
// reach a given limit, so that none waits forever.
bool terminates(const plan::ArrivalRule& rule) {
  plan::ArrivalQueue arrivals(rule);
  arrivals.allow(20L * rule.workers);
  std::priority_queue<std::pair<std::int64_t, int>, std::vector<std::pair<std::int64_t, int>>,
                      std::greater<>>
      busy;
  std::int64_t now = 0;
  const auto answer = [&] {
    while (const auto given = arrivals.answer())
      busy.emplace(now + 10 + 3 * given->worker, given->worker);
  };
  for (int worker = 0; worker < rule.workers; ++worker) arrivals.join(worker);
  for (answer(); !busy.empty(); answer()) {
    const auto [done, worker] = busy.top();
    busy.pop();
    now = done;
    arrivals.push(worker);
  }
  return arrivals.is_exhausted();
}

void check_rules(const Scope& scope, int workers, Findings& findings) {
  const RankPlan* first = nullptr;
  for (const RankPlan& rank : scope.ranks) {
    if (!rank.rule) continue;
    if (first == nullptr) first = &rank;
    if (*rank.rule != *first->rule)
      findings.add(Proof::serving, FindingLocation{rank.rank, "", -1},
                   fmt::format("the arrival rule differs from that of rank {}", first->rank),
                   "the same rule on all servers", "");
    if (rank.rule->workers != workers)
      findings.add(
          Proof::serving, FindingLocation{rank.rank, "", -1},
          fmt::format("the arrival rule has {}", base::counted(rank.rule->workers, "worker")),
          std::to_string(workers), "");
    else if (!sound(*rank.rule))
      findings.add(Proof::serving, FindingLocation{rank.rank, "", -1},
                   fmt::format("the arrival rule needs {} per update",
                               base::counted(rank.rule->gradients_per_update, "gradient")),
                   fmt::format("1 to {}", workers), "");
    else if (!terminates(*rank.rule))
      findings.add(Proof::serving, FindingLocation{rank.rank, "", -1},
                   "under the arrival rule, workers wait forever",
                   "a rule under which some worker can always continue", "");
  }
}

}  // namespace

bool has_servers(const Scope& scope) {
  return std::any_of(scope.ranks.begin(), scope.ranks.end(),
                     [](const RankPlan& rank) { return rank.rule.has_value(); });
}

void prove_serving(const Scope& scope, Findings& findings) {
  const Ends servers = ends_of_servers(scope);
  int workers = 0;
  for (const RankPlan& rank : scope.ranks) {
    if (rank.rule || plan::is_evaluator(rank)) continue;
    ++workers;
    for (const plan::Program& program : rank.programs)
      if (plan::purpose(program.name) == plan::Purpose::training)
        match(rank, program.name, servers, findings);
    cover(rank, findings);
    prove_lists(rank, findings);
  }
  check_rules(scope, workers, findings);
}

}  // namespace trainyard::check

// SPDX-License-Identifier: GPL-3.0-or-later
// Proves recomputation by symbolic execution of a rank's program. Every op writes distinct values.
// R (recomputation) must read the values that the forward pass of its segment and micro-step read
// or wrote, including all inputs of that pass. So R writes the same output bit for bit. It must
// write nothing else: values that forward changes, such as running statistics, must not change
// again. The backward pass and the loss must also read the values of the forward pass of their
// segment and micro-step, whether kept or recomputed. Gathered, stashed and server parameters are
// checked elsewhere (sharding.cpp, versions.cpp, serving.cpp).
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "core/check/cells.h"
#include "core/check/proofs.h"

namespace trainyard::check {
namespace {

using plan::Access;
using plan::Op;
using plan::OpKind;

bool is_backward_op(OpKind kind) {
  return kind == OpKind::backward_input || kind == OpKind::backward_weight;
}
bool recomputes(const plan::Program& program) {
  return std::any_of(program.ops.begin(), program.ops.end(),
                     [](const Op& op) { return op.kind == OpKind::recompute; });
}

// Symbolic value of a cell: the values that `op` wrote, from element `shift` on. Op 0 stands for
// values from before the program.
struct HeldValue {
  std::int64_t op = 0, shift = 0;
  bool operator==(const HeldValue&) const = default;
};

// Values of the cells that an op accesses in one buffer: for each cell its offset in the access,
// and its value.
using Values = std::vector<std::pair<std::int64_t, HeldValue>>;

struct Touched {
  std::map<std::size_t, Values> reads, writes;  // values by buffer
};

// Symbolic execution of one program, on one rank.
class Recomputing {
 public:
  Recomputing(const plan::RankPlan& rank, int program, const Cells& cells, bool follows_parameters,
              Findings& findings)
      : rank_(rank),
        number_(program),
        cells_(cells),
        findings_(findings),
        parameters_(rank.buffer("params")),
        stash_(rank.buffer("stash")),
        follows_parameters_(follows_parameters),
        held_(rank.buffers.size()) {
    for (const Op& op : this->program().ops)
      if (op.kind == OpKind::forward) last_ = std::max(last_, op.segment);
  }

  // Executes one op symbolically. Returns false if it reported a finding.
  bool step(int number) {
    const Op& op = program().ops[static_cast<std::size_t>(number)];
    op_ = number;
    if (op.kind == OpKind::offload || op.kind == OpKind::fetch)
      return true;  // OUT and IN are skipped: offloading.cpp checks them
    if (op.kind == OpKind::recompute) return recompute(op);
    if ((is_backward_op(op.kind) || op.kind == OpKind::loss) && !reads_forward_values(op))
      return false;
    Touched touched;
    if (op.kind == OpKind::forward) touched.reads = reads_of(op);
    leave(op);
    if (op.kind == OpKind::forward)
      touched.writes = all_of(op.writes, cells_.of(number_, op_).writes),
      seen_[{op.segment, op.micro}] = std::move(touched);
    return true;
  }

 private:
  const plan::Program& program() const { return rank_.programs[static_cast<std::size_t>(number_)]; }
  const std::string& name(std::size_t buffer) const { return rank_.buffers[buffer].name; }

  bool report(const std::string& what, const std::string& advice) {
    findings_.add(
        Proof::recomputing, FindingLocation{rank_.rank, program().name, op_}, what,
        "the values that the forward pass of the same segment and micro-step read or wrote",
        advice);
    return false;
  }

  Values values_of(const Access& access, const Span& span) {
    Values values;
    for (std::size_t c = span.first; c < span.last; ++c)
      values.emplace_back(cells_.range(span.buffer, c).first - access.first, held(span.buffer, c));
    return values;
  }

  std::map<std::size_t, Values> all_of(const std::vector<Access>& accesses,
                                       const std::vector<Span>& spans) {
    std::map<std::size_t, Values> all;
    for (std::size_t i = 0; i < spans.size(); ++i) {
      const Values values = values_of(accesses[i], spans[i]);
      Values& of_buffer =
          all[stash_.valid() && spans[i].buffer == stash_.index() ? parameters_.index()
                                                                  : spans[i].buffer];
      of_buffer.insert(of_buffer.end(), values.begin(), values.end());
    }
    return all;
  }

  std::map<std::size_t, Values> reads_of(const Op& op) {
    return all_of(op.reads, cells_.of(number_, op_).reads);
  }

  void leave(const Op& op) {
    const auto& writes = cells_.of(number_, op_).writes;
    for (std::size_t i = 0; i < writes.size(); ++i)
      for (std::size_t c = writes[i].first; c < writes[i].last; ++c)
        held(writes[i].buffer, c) = {op_ + 1,
                                     cells_.range(writes[i].buffer, c).first - op.writes[i].first};
  }

  HeldValue& held(std::size_t buffer, std::size_t cell) {
    auto& of_buffer = held_[buffer];
    if (of_buffer.size() <= cell) of_buffer.resize(cell + 1);
    return of_buffer[cell];
  }

  // Returns the values of a buffer that the forward pass read or wrote. If the forward op both read
  // and wrote the buffer, `first` selects the values that the op read (`found`) or the values that
  // it wrote (`left`). Null if the op did not access the buffer.
  enum class First { found, left };
  static const Values* of_forward(const Touched& forward, std::size_t buffer, First first) {
    for (const auto* touched : {first == First::found ? &forward.reads : &forward.writes,
                                first == First::found ? &forward.writes : &forward.reads})
      if (const auto at = touched->find(buffer); at != touched->end()) return &at->second;
    return nullptr;
  }
  bool is_followed(std::size_t buffer) const {
    return follows_parameters_ || !parameters_.valid() || buffer != parameters_.index();
  }

  bool reads_forward_values(const Op& op) {
    const bool is_loss = op.kind == OpKind::loss;
    const auto forward = seen_.find({is_loss ? last_ : op.segment, op.micro});
    // without an entry, the forward pass is on another rank, or processed samples of other ranks
    if (forward == seen_.end()) return true;
    for (const auto& [buffer, values] : reads_of(op)) {
      const Values* wanted =
          is_followed(buffer) ? of_forward(forward->second, buffer, First::left) : nullptr;
      if (wanted == nullptr) continue;
      const auto is_there = [&, &read = values](const auto& value) {
        return std::find(read.begin(), read.end(), value) != read.end();
      };
      if (is_loss ? std::all_of(wanted->begin(), wanted->end(), is_there) : *wanted == values)
        continue;
      return report(changed_since_forward(buffer),
                    "Keep the values of the forward pass, or recompute them before the op.");
    }
    return true;
  }

  std::string changed_since_forward(std::size_t buffer) const {
    return fmt::format(
        "the op reads {}, which holds other values than in the forward pass of the micro-step",
        name(buffer));
  }

  bool recompute(const Op& op) {
    const auto known = seen_.find({op.segment, op.micro});
    if (known == seen_.end())
      return report("the op recomputes an output that no forward pass of the micro-step computed",
                    "Let the op follow its forward pass.");
    const Touched& forward = known->second;
    const auto reads = reads_of(op);
    for (const auto& [buffer, values] : reads) {
      const Values* wanted = of_forward(forward, buffer, First::found);
      if (wanted == nullptr)
        return report(
            fmt::format("the op reads {}, which its forward pass did not read", name(buffer)),
            "Read the inputs of the forward pass.");
      if (is_followed(buffer) && *wanted != values)
        return report(
            changed_since_forward(buffer),
            "Keep the inputs of recomputed segments until their backward pass, and recompute "
            "outputs in order, before any update.");
    }
    for (const auto& [buffer, values] : forward.reads)
      if (!forward.writes.contains(buffer) && !reads.contains(buffer))
        return report(
            fmt::format("the op does not read {}, which its forward pass read", name(buffer)),
            "Read all inputs of the forward pass.");
    return restore(forward, reads);
  }

  bool restore(const Touched& forward, const std::map<std::size_t, Values>& reads) {
    const auto& writes = cells_.of(number_, op_).writes;
    std::map<std::size_t, std::size_t> written;  // number of cells written, by buffer
    for (const Span& span : writes) {
      const auto made = forward.writes.find(span.buffer);
      if (made == forward.writes.end() || forward.reads.contains(span.buffer) ||
          reads.contains(span.buffer) || made->second.size() != span.last - span.first)
        return report(
            fmt::format("the op writes {}, which is not exactly the output of its forward pass",
                        name(span.buffer)),
            "Let the op write exactly the output of its forward pass.");
      for (std::size_t c = span.first; c < span.last; ++c)
        held(span.buffer, c) = made->second[c - span.first].second;
      written[span.buffer] += span.last - span.first;
    }
    for (const auto& [buffer, values] : forward.writes)
      if (!forward.reads.contains(buffer) && !reads.contains(buffer) && !written.contains(buffer))
        return report(fmt::format("the op does not recompute {}", name(buffer)),
                      "Write the output.");
    return true;
  }

  const plan::RankPlan& rank_;
  int number_, op_ = 0;
  const Cells& cells_;
  Findings& findings_;
  plan::BufferId parameters_, stash_;  // `stash_` is invalid if no parameters are stashed
  bool follows_parameters_;            // false if another check follows the parameters
  std::int32_t last_ = -1;             // last segment of the rank
  std::vector<std::vector<HeldValue>>
      held_;  // by buffer, by cell; missing cells hold values from before the program
  std::map<std::pair<std::int32_t, std::int32_t>, Touched>
      seen_;  // forward ops, by segment and micro-step
};

// Returns the ops of a program in the order in which they complete in its first instance. For ranks
// whose programs run when messages arrive, returns them in program order.
std::vector<int> order_of(const Scope& scope, std::int32_t rank, const std::string& program) {
  std::vector<int> order;
  if (has_servers(scope)) {
    const plan::RankPlan& own = scope.rank(rank);
    for (int i = 0;
         i < std::ssize(own.programs[static_cast<std::size_t>(own.program(program))].ops); ++i)
      order.push_back(i);
    return order;
  }
  const std::int32_t instance = first_instances(scope, program)[static_cast<std::size_t>(rank)];
  const auto add = [&](const plan::DryRun::At& at) {
    if (at.rank == rank && scope.run.place(at).instance == instance)
      order.push_back(scope.run.place(at).op);
  };
  for (const plan::DryRun::Event& event : scope.run.events) {
    if (!event.completes || instance < 0) continue;
    for (const plan::DryRun::At& source : scope.run.sources_of(event)) add(source);
    add(event.at);
  }
  return order;
}

}  // namespace

bool has_recomputation(const Scope& scope) {
  return std::any_of(scope.ranks.begin(), scope.ranks.end(), [](const plan::RankPlan& rank) {
    return std::any_of(rank.programs.begin(), rank.programs.end(), recomputes);
  });
}

void prove_recomputing(const Scope& scope, Findings& findings) {
  const bool follows_parameters =
      !has_servers(scope) && !shares_parameters(scope) && !has_versions(scope);
  for (const plan::RankPlan& rank : scope.ranks) {
    if (std::none_of(rank.programs.begin(), rank.programs.end(), recomputes)) continue;
    const Cells cells(rank);
    for (std::size_t p = 0; p < rank.programs.size(); ++p) {
      if (!recomputes(rank.programs[p])) continue;
      Recomputing proof(rank, static_cast<int>(p), cells, follows_parameters, findings);
      const std::vector<int> order = order_of(scope, rank.rank, rank.programs[p].name);
      std::size_t i = 0;
      while (i < order.size() && proof.step(order[i])) ++i;
    }
  }
}

}  // namespace trainyard::check

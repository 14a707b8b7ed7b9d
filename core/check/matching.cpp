// SPDX-License-Identifier: GPL-3.0-or-later
// Proves that matched sends and receives have equal tags. Messages are matched only by their order,
// so a send out of order would be matched with the wrong receive.
#include <fmt/core.h>

#include "core/base/units.h"
#include "core/check/proofs.h"

namespace trainyard::check {
namespace {

using At = plan::DryRun::At;
using plan::Op;
using plan::OpKind;

std::string difference(const Scope& scope, const At& at, const At& source) {
  const Op &op = scope.op(at), &other = scope.op(source);
  const bool chunked = !plan::coarse(op.kind);
  const auto bytes = bytes_of(scope.rank(at.rank), op.writes),
             incoming = bytes_of(scope.rank(source.rank), other.reads);
  if (scope.program(at).name != scope.program(source).name)
    return fmt::format("program {} instead of {}", scope.program(source).name,
                       scope.program(at).name);
  if (op.bucket != other.bucket)
    return fmt::format("bucket {} instead of {}", other.bucket, op.bucket);
  if (chunked && op.round != other.round)
    return fmt::format("round {} instead of {}", other.round, op.round);
  if (chunked && op.chunk != other.chunk)
    return fmt::format("chunk {} instead of {}", other.chunk, op.chunk);
  if (!chunked && op.kind != other.kind)
    return fmt::format("{} instead of {}", plan::word(other.kind), plan::word(op.kind));
  if (!chunked && op.peer != other.peer)
    return fmt::format("root {} instead of {}", other.peer, op.peer);
  if (bytes != incoming)
    return fmt::format("{} instead of {}", base::counted(incoming, "byte"), bytes);
  const auto dtype = [&](const At& of, const plan::Access& access) {
    return scope.rank(of.rank).buffers[access.buffer.index()].dtype;
  };
  return dtype(at, op.writes.front()) != dtype(source, other.reads.front()) ? "a different dtype"
                                                                            : "";
}

}  // namespace

void prove_matching(const Scope& scope, Findings& findings) {
  for (const plan::DryRun::Event& event : scope.run.events)
    for (const At& source : scope.run.sources_of(event)) {
      const std::string wrong = difference(scope, event.at, source);
      if (wrong.empty()) continue;
      findings.add(Proof::matching, event.at,
                   fmt::format("the op is matched with {} of rank {}: {}",
                               plan::token(scope.op(source)), source.rank, wrong),
                   "a send and a receive with the same bucket, round, chunk and bytes",
                   "The k-th send to a peer matches its k-th receive. Compare the two lanes from "
                   "the start.");
    }
}

}  // namespace trainyard::check

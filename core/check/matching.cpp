// SPDX-License-Identifier: GPL-3.0-or-later
// Proves that matched sends and receives have equal tags. Only order pairs messages, so a send out
// of order meets the wrong receive.
#include "core/check/proofs.h"

namespace trainyard::check {
namespace {

using At = plan::Rehearsal::At;
using plan::Op;
using plan::OpKind;

std::string difference(const Scope& scope, const At& at, const At& source) {
  const Op &op = scope.op(at), &other = scope.op(source);
  const bool chunked = !plan::coarse(op.kind);
  const auto bytes = bytes_of(scope.rank(at.rank), op.writes),
             incoming = bytes_of(scope.rank(source.rank), other.reads);
  if (scope.program(at).name != scope.program(source).name)
    return "program " + scope.program(source).name;
  if (op.bucket != other.bucket) return "bucket " + std::to_string(other.bucket);
  if (chunked && op.round != other.round) return "round " + std::to_string(other.round);
  if (chunked && op.chunk != other.chunk) return "chunk " + std::to_string(other.chunk);
  if (!chunked && op.kind != other.kind) return "another collective";
  if (!chunked && op.peer != other.peer) return "another root";
  if (bytes != incoming) return std::to_string(incoming) + " bytes for " + std::to_string(bytes);
  const auto dtype = [&](const At& of, const plan::Access& access) {
    return scope.rank(of.rank).buffers[access.buffer.index()].dtype;
  };
  return dtype(at, op.writes.front()) != dtype(source, other.reads.front()) ? "another dtype" : "";
}

}  // namespace

void prove_matching(const Scope& scope, Findings& findings) {
  for (const plan::Rehearsal::Event& event : scope.run.events)
    for (const At& source : scope.run.sources_of(event)) {
      const std::string wrong = difference(scope, event.at, source);
      if (wrong.empty()) continue;
      findings.add(Proof::matching, event.at,
                   "meets " + plan::token(scope.op(source)) + " of rank " +
                       std::to_string(source.rank) + ": " + wrong,
                   "the same bucket, round, chunk and bytes at both ends",
                   "The k-th send to a peer meets the k-th receive there: compare the two lanes "
                   "from the start.");
    }
}

}  // namespace trainyard::check

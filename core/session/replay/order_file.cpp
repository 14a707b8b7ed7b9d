// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/replay/order_file.h"

#include <fmt/core.h>

#include "core/base/stored_document.h"
#include "core/plan/text.h"
#include "core/run/control/order_log.h"
#include "core/telemetry/recording.h"

namespace trainyard::session {
namespace {

struct OrderHeader {
  std::string plan_hash;  // Empty in files of older versions.
};

}  // namespace
}  // namespace trainyard::session

template <>
struct trainyard::base::Fields<trainyard::session::OrderHeader> {
  using H = trainyard::session::OrderHeader;
  static constexpr std::string_view title = "Header of an order file";
  static auto table() {
    return std::tuple{field("plan_hash", &H::plan_hash, "", {0, 100}, "Hash of the plan")};
  }
};

namespace trainyard::session {
namespace {

using base::ProblemCode;
using base::Result;
using telemetry::Frame;
using telemetry::FrameType;

// Checks that the order was recorded with this plan. Otherwise events might decode but have another
// meaning. Files of older versions do not name their plan and are accepted.
Result<void> is_of(const Frame& header, const std::string& plan_hash, const std::string& path) {
  const auto json = telemetry::json_of(header);
  if (!json) return base::fail(json.error());
  OrderHeader own;
  base::Problems problems;
  base::read_present(*json, own, "", problems);
  if (!problems.empty()) {
    problems.front().where = fmt::format("{}: {}", path, problems.front().where);
    return base::fail(unreadable_order(problems.front(), path));
  }
  if (own.plan_hash.empty() || own.plan_hash == plan_hash) return {};
  return base::fail(
      {"order_of_other_plan", ProblemCode::refused, path,
       fmt::format("the order belongs to plan {}, but the experiment beside it has plan {}",
                   own.plan_hash, plan_hash),
       "the order file of this run, and the version of Trainyard that recorded it",
       "The order file belongs to another run, or resolved.json was changed."});
}

std::vector<bool> ranks_with_order(const plan::Plan& plan) {
  std::vector<bool> keeps;
  for (std::int32_t rank = 0; rank < plan.ranks; ++rank)
    keeps.push_back(run::keeps_order(plan.rank_plan(rank)));
  return keeps;
}

base::Problem keeps_none(int rank, const std::string& path) {
  return {"order_incomplete",
          ProblemCode::bad_input,
          path,
          fmt::format("the file contains events of rank {}, but this rank of the run records none",
                      rank),
          "",
          "The order file belongs to another run."};
}

}  // namespace

base::Problem unreadable_order(base::Problem problem, const std::filesystem::path& path) {
  if (problem.where.find(path.string()) == std::string::npos) problem.where = path.string();
  problem.advice = fmt::format(
      "Copy {} again from the machine on which the run was made. If the file is damaged on that "
      "machine, too, the run cannot be recomputed: its recording can still be replayed without "
      "--recompute, and its weights are in checkpoints/. A run of servers with run.clock=virtual "
      "needs no such file: it can be repeated.",
      path.string());
  return problem;
}

Result<WrittenOrder> read_order(const std::filesystem::path& path, const plan::Plan& plan) {
  auto reader = telemetry::RecordingReader::open(path);
  if (!reader) return base::fail(unreadable_order(reader.error(), path));
  const std::string plan_hash = plan::hash(plan);
  const std::vector<bool> keeps = ranks_with_order(plan);
  WrittenOrder order{std::vector<std::string>(keeps.size())};
  for (auto frame = reader->next();; frame = reader->next()) {
    if (!frame) return base::fail(unreadable_order(frame.error(), path));
    if (!*frame) break;
    if ((*frame)->type == FrameType::header)
      if (const auto own = is_of(**frame, plan_hash, path.string()); !own)
        return base::fail(own.error());
    if ((*frame)->type != FrameType::order) continue;
    const auto rank = static_cast<std::size_t>((*frame)->rank);
    if (rank >= keeps.size() || !keeps[rank])
      return base::fail(keeps_none((*frame)->rank, path.string()));
    const auto payload = (*frame)->payload;
    order.ranks[rank].append(reinterpret_cast<const char*>(payload.data()), payload.size());
  }
  order.torn = reader->unfinished_bytes() > 0;
  return order;
}

}  // namespace trainyard::session

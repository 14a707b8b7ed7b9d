// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/answers.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "core/plan/merged.h"

namespace trainyard::plan {
namespace {

constexpr std::size_t kAnswerBytes = 32;
constexpr std::size_t kUnused = 3;  // unused bytes after the kind

bool is_answer(std::span<const std::byte> record) {
  const auto unused = record.subspan(1, kUnused);
  return std::to_integer<int>(record[0]) <= static_cast<int>(Answer::Kind::ends) &&
         std::all_of(unused.begin(), unused.end(),
                     [](std::byte byte) { return byte == std::byte{0}; });
}

Answer answer_in(std::span<const std::byte> record) {
  Answer event;
  event.kind = static_cast<Answer::Kind>(record[0]);
  std::memcpy(&event.rank, &record[4], 4);
  std::memcpy(&event.active, &record[8], 4);
  std::memcpy(&event.place.ops, &record[12], 4);
  std::memcpy(&event.place.step, &record[16], 8);
  std::memcpy(&event.step, &record[24], 8);
  return event;
}

}  // namespace

void append(const Answer& event, std::string& bytes) {
  std::array<char, kAnswerBytes> record{};
  record[0] = static_cast<char>(event.kind);
  std::memcpy(&record[4], &event.rank, 4);
  std::memcpy(&record[8], &event.active, 4);
  std::memcpy(&record[12], &event.place.ops, 4);
  std::memcpy(&record[16], &event.place.step, 8);
  std::memcpy(&record[24], &event.step, 8);
  bytes.append(record.data(), record.size());
}

base::Result<std::vector<Answer>> answers_of(std::span<const std::byte> bytes) {
  if (bytes.size() % kAnswerBytes != 0)
    return base::fail(damaged_order("order_truncated", "the last event is truncated"));
  std::vector<Answer> events;
  events.reserve(bytes.size() / kAnswerBytes);
  for (std::size_t at = 0; at < bytes.size(); at += kAnswerBytes) {
    const auto record = bytes.subspan(at, kAnswerBytes);
    if (!is_answer(record))
      return base::fail(damaged_order(
          "unknown_event", fmt::format("event {} is of an unknown kind", events.size())));
    events.push_back(answer_in(record));
  }
  return events;
}

base::Result<RecordedAnswers> RecordedAnswers::make(std::vector<std::vector<Answer>> ranks,
                                                    std::int64_t first_step) {
  const auto count = static_cast<std::int32_t>(ranks.size());
  for (std::int32_t rank = 0; rank < count; ++rank)
    for (const Answer& event : ranks[static_cast<std::size_t>(rank)])
      if (event.rank != rank ||
          (event.kind == Answer::Kind::answers && (event.active < 0 || event.active >= count)))
        return base::fail(damaged_order(
            "unknown_rank",
            fmt::format("an event of passive rank {} and active rank {} refers to a rank "
                        "that does not exist",
                        event.rank, event.active)));
  RecordedAnswers order;
  order.asks_.assign(ranks.size(), first_step);
  order.merged_ = MergedLogs<Answer>(std::move(ranks));
  return order;
}

std::optional<Answer> RecordedAnswers::next() {
  const Answer* const event = merged_.take([&](const Answer& one) {
    return one.kind == Answer::Kind::ends ||
           asks_[static_cast<std::size_t>(one.active)] == one.step;
  });
  if (event == nullptr) return std::nullopt;
  if (event->kind == Answer::Kind::answers) ++asks_[static_cast<std::size_t>(event->active)];
  return *event;
}

}  // namespace trainyard::plan

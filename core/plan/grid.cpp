// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/core.h>

#include <algorithm>

#include "core/plan/dry_run.h"
#include "core/plan/text.h"

namespace trainyard::plan {
namespace {

// number of columns (ticks) and of ranks that are shown around a marked op
constexpr std::size_t kColumnsAround = 8, kRanksAround = 3;

class Grid {
 public:
  Grid(const Plan& plan, std::string_view program, std::optional<Mark> mark) : mark_(mark) {
    std::vector<std::vector<int>> instances;
    for (std::int32_t rank = 0; rank < plan.ranks; ++rank) {
      ranks_.push_back(plan.rank_plan(rank));
      const int number = ranks_.back().program(program);
      instances.push_back(number < 0 ? std::vector<int>{} : std::vector{number});
    }
    run_ = dry_run(ranks_, plan.groups, std::move(instances));
    ticks_ = static_cast<std::size_t>(run_.ticks);
    for (std::size_t r = 0; r < ranks_.size(); ++r)
      for (std::size_t l = 0; l < run_.places[r].size(); ++l)
        if (!run_.places[r][l].empty()) add_row(r, l);
  }

  std::string text() {
    const auto [first, last] = columns();
    std::vector<std::size_t> widths(ticks_ + 1, 0);
    std::size_t label_width = 0;
    for (const Row& row : rows_) {
      if (!shown(row)) continue;
      label_width = std::max(label_width, row.label.size());
      for (std::size_t c = first; c < last; ++c)
        widths[c] = std::max(widths[c], row.cells[c].size());
    }
    std::string text;
    for (const Row& row : rows_)
      if (shown(row)) text += line(row, label_width, widths, first, last);
    return text + legend(first, last);
  }

 private:
  struct Row {
    std::size_t rank;
    std::string label;
    std::vector<std::string> cells;  // text by tick; the last cell shows ops that never start
  };

  void add_row(std::size_t r, std::size_t l) {
    Row row{r, "r" + std::to_string(ranks_[r].rank) + " " + ranks_[r].lanes[l].name,
            std::vector<std::string>(ticks_ + 1)};
    bool stuck = false;
    for (const DryRun::OpRun& place : run_.places[r][l]) {
      const bool marked = is_marked(r, place);
      if (place.begin < 0 && stuck && !marked)
        continue;  // only the first op that never starts is shown
      stuck = stuck || place.begin < 0;
      const std::size_t tick = place.begin < 0 ? ticks_ : static_cast<std::size_t>(place.begin);
      if (marked) marked_tick_ = tick;
      append(row.cells[tick], cell(r, place, marked));
      const std::size_t until = place.begin < 0 ? tick
                                : place.end < 0 ? ticks_ - 1
                                                : static_cast<std::size_t>(place.end);
      for (std::size_t t = tick + 1; t <= until; ++t)
        if (row.cells[t].empty()) row.cells[t] = "~";
    }
    rows_.push_back(std::move(row));
  }

  std::string cell(std::size_t r, const DryRun::OpRun& place, bool marked) const {
    const Op& op =
        ranks_[r]
            .programs[static_cast<std::size_t>(run_.program(static_cast<std::int32_t>(r), place))]
            .ops[static_cast<std::size_t>(place.op)];
    const std::string text = token(op) + (place.begin < 0 ? "?" : place.end < 0 ? "!" : "");
    return marked ? ">" + text + "<" : text;
  }
  static void append(std::string& cell, const std::string& text) {
    if (cell == "~") cell.clear();
    cell += cell.empty() ? text : "+" + text;
  }

  bool is_marked(std::size_t r, const DryRun::OpRun& place) const {
    return mark_ && mark_->rank == ranks_[r].rank && mark_->op == place.op;
  }

  bool shown(const Row& row) const {
    if (!mark_) return true;
    const auto n = static_cast<std::int64_t>(ranks_.size()),
               away = (((static_cast<std::int64_t>(row.rank) - mark_->rank) % n) + n) % n;
    return std::min(away, n - away) <= static_cast<std::int64_t>(kRanksAround);
  }
  std::pair<std::size_t, std::size_t> columns() const {
    const std::size_t all = run_.complete ? ticks_ : ticks_ + 1;
    if (!mark_) return {0, all};
    return {marked_tick_ - std::min(marked_tick_, kColumnsAround),
            std::min(all, marked_tick_ + kColumnsAround + 1)};
  }

  static std::string line(const Row& row, std::size_t label_width,
                          const std::vector<std::size_t>& widths, std::size_t first,
                          std::size_t last) {
    std::string text = row.label + std::string(label_width - row.label.size(), ' ');
    for (std::size_t c = first; c < last; ++c) {
      const std::string cell = row.cells[c].empty() ? "." : row.cells[c];
      text += "  " + cell + std::string(widths[c] - std::min(widths[c], cell.size()), ' ');
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text + "\n";
  }

  std::string legend(std::size_t first, std::size_t last) const {
    std::string text =
        "Each column is a tick, and each op takes one tick. Symbols: . idle, ~ waits for a peer, + "
        "more ops in the same tick";
    if (!run_.complete) text += ", ! never completes, ? never starts";
    if (mark_) text += ", > < around the op of the finding";
    text += ".\n";
    if (mark_ && (first > 0 || last < ticks_))
      text += fmt::format("Ticks {} to {} of {}.\n", first, last - 1, ticks_);
    return text;
  }

  std::vector<RankPlan> ranks_;
  std::optional<Mark> mark_;
  DryRun run_;
  std::size_t ticks_ = 0, marked_tick_ = 0;
  std::vector<Row> rows_;
};

}  // namespace

std::string grid(const Plan& plan, std::string_view program, std::optional<Mark> marked) {
  return Grid(plan, program, marked).text();
}

}  // namespace trainyard::plan

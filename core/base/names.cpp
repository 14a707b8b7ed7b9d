// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/names.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

namespace trainyard::base {
namespace {

constexpr std::size_t kMaxNameLength = 64;  // longer words get no suggestion
constexpr std::size_t kMinWordLength = 4;   // of words that are compared with parts of names

// True if the name has the word between underscores.
bool has_word(std::string_view name, std::string_view word) {
  const std::size_t at = name.find(word);
  if (at == std::string_view::npos) return false;
  const std::size_t end = at + word.size();
  return (at == 0 || name[at - 1] == '_') && (end == name.size() || name[end] == '_');
}

// Returns the number of insertions, deletions, replacements and swaps of adjacent letters (optimal
// string alignment: Boytsov 2011).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  // rows of the distance table: for the first i - 2, the first i - 1 and the first i letters of `a`
  std::vector<std::size_t> before, last(b.size() + 1), row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] =
          std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row.back();
}

}  // namespace

std::string joined_names(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string nearest_name(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  if (word.size() > kMaxNameLength) return best;
  // only one letter may differ in short words; otherwise every short word would count as similar
  std::size_t least = std::max<std::size_t>(1, word.size() / 3);
  for (const std::string& candidate : candidates)
    if (const std::size_t distance = edit_distance(word, candidate); distance <= least) {
      best = candidate;
      least = distance - (distance > 0 ? 1 : 0);
    }
  if (!best.empty() || word.size() < kMinWordLength) return best;
  // a word of a name: "batch" of "batch_per_rank"
  for (const std::string& candidate : candidates)
    if (has_word(candidate, word)) return candidate;
  return best;
}

}  // namespace trainyard::base

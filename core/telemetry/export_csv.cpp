// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/telemetry/export_csv.h"

#include <charconv>
#include <cmath>
#include <ostream>

#include "core/base/units.h"

namespace trainyard::telemetry {
namespace {

void append(std::string& line, double value) {
  if (!std::isfinite(value)) {
    line += base::number_text(value, "");
    return;
  }
  char digits[32];
  const auto written = std::to_chars(digits, digits + sizeof digits, value);
  line.append(digits, written.ptr);
}

// Returns the text, quoted if needed, with inner quotes doubled.
std::string cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

// Writes one row of the table. `prefix`: metric, rank and index, each followed by a comma.
void write_row(std::ostream& out, const std::string& prefix, std::int64_t step, double seconds,
               double value, const std::string& text = "") {
  std::string line = prefix + std::to_string(step) + ',';
  append(line, seconds);
  line += ',';
  append(line, value);
  out << line << ',' << cell(text) << '\n';
}

void write_series(std::ostream& out, const SeriesKey& key, const Series& series) {
  const std::string prefix = std::string(base::name_of(key.metric)) + ',' +
                             std::to_string(key.rank) + ',' + std::to_string(key.index) + ',';
  for (std::size_t i = 0; i < series.values.size(); ++i)
    write_row(out, prefix, series.steps[i], series.seconds[i], series.values[i]);
}

void write_gathered(std::ostream& out, const std::string& name, const StepValues& values) {
  for (const StepValue& at : values) write_row(out, name + ",-1,0,", at.step, at.seconds, at.value);
}

void write_fault(std::ostream& out, const Fault& fault) {
  const int index = fault.rank < 0 ? fault.link : 0;
  write_row(out,
            cell("fault_" + fault.kind) + ',' + std::to_string(fault.rank) + ',' +
                std::to_string(index) + ',',
            fault.step, fault.seconds, 1, fault.text);
}

}  // namespace

base::Result<void> export_csv(const History& history, std::ostream& out) {
  out << "metric,rank,index,step,seconds,value,text\n";
  for (const auto& [key, series] : history.series()) write_series(out, key, series);
  write_gathered(out, "trained_samples", history.trained_samples());
  write_gathered(out, "train_loss", history.train_loss());
  write_gathered(out, "train_accuracy", history.train_accuracy());
  write_gathered(out, "held_out_loss", history.held_out_loss());
  write_gathered(out, "held_out_accuracy", history.held_out_accuracy());
  for (const Fault& fault : history.faults()) write_fault(out, fault);
  out.flush();
  if (!out)
    return base::fail({"export_failed", base::ProblemCode::failed, "export",
                       "cannot write the CSV file", "",
                       "Free space on the disk, or choose another file."});
  return {};
}

}  // namespace trainyard::telemetry

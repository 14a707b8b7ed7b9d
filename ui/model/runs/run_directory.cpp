// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/runs/run_directory.h"

#include <QDateTime>
#include <QDir>
#include <QObject>
#include <QRegularExpression>
#include <algorithm>
#include <cmath>
#include <fstream>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/telemetry/recorded_documents.h"
#include "core/telemetry/recording.h"
#include "core/telemetry/recording_summary.h"
#include "ui/model/topology/topology_edit.h"

namespace trainyard::ui {
namespace {

constexpr auto kTimeInName = "yyyy-MM-dd_HH-mm-ss";
constexpr int kTimeCharacters = 19;
constexpr std::size_t kMaxTextBytes = 16u << 20;
// maximum number of bytes read from the end of an output file
constexpr std::streamoff kMaxPrinted = 64 << 10;
constexpr int kLastLines = 12;

const base::Json& child(const base::Json& json, const char* key) {
  static const base::Json nothing;
  if (!json.is_object()) return nothing;
  const auto at = json.find(key);
  return at == json.end() ? nothing : *at;
}

// Returns the experiment as the user wrote it. A resolved experiment contains it as "document".
const base::Json& document_of(const base::Json& resolved) {
  return child(resolved, "document").is_object() ? child(resolved, "document") : resolved;
}

QString words_at(const base::Json& json, const char* key) {
  const base::Json& value = child(json, key);
  return value.is_string() ? QString::fromStdString(value.get<std::string>()) : QString();
}

QDateTime time_in_name(const QString& directory) {
  return QDateTime::fromString(QFileInfo(directory).fileName().left(kTimeCharacters), kTimeInName);
}

QString time_of(const QString& directory) {
  const QDateTime named = time_in_name(directory);
  return (named.isValid() ? named : QFileInfo(directory).lastModified())
      .toString("yyyy-MM-dd HH:mm:ss");
}

// Returns the name of a run directory without the time at its beginning.
QString name_without_time(const QString& directory) {
  const QString whole = QFileInfo(directory).fileName();
  const QString name = time_in_name(directory).isValid() ? whole.mid(kTimeCharacters + 1) : whole;
  return name.isEmpty() || name.startsWith("untitled") ? QObject::tr("Untitled") : name;
}

QString label_of(const QString& directory) {
  const auto text = base::read_file(QDir(directory).filePath(kLabelFile).toStdString(), 4096);
  return text ? QString::fromStdString(*text).trimmed() : QString();
}

base::Json saved_experiment(const QString& directory) {
  const auto text =
      base::read_file(QDir(directory).filePath(kExperimentFile).toStdString(), kMaxTextBytes);
  return text ? base::parse_json(*text, kExperimentFile).value_or(base::Json()) : base::Json();
}

QString shown_name(const QString& directory, const base::Json& experiment) {
  for (const QString& name : {label_of(directory), words_at(experiment, "name")})
    if (!name.isEmpty()) return name;
  return name_without_time(directory);
}

void fill_from_recording(RunEntry& entry) {
  const auto summary = telemetry::read_summary(entry.directory.toStdString());
  if (!summary) return;
  entry.experiment = base::SharedJson(document_of(child(summary->header, "experiment")));
  entry.result = base::SharedJson(summary->result);
  base::Problems ignored;  // opening the run reports them
  entry.ranks = telemetry::read_header(summary->header, ignored).ranks;
  if (!summary->result.is_object()) return;
  const auto result = telemetry::read_result(summary->result, ignored);
  if (!std::isnan(result.held_out_accuracy)) entry.accuracy = result.held_out_accuracy;
  if (!result.status.empty()) entry.state = QString::fromStdString(result.status);
}

// Reads only the last bytes of a file, because the user is waiting.
std::optional<std::string> read_tail(const std::filesystem::path& file) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored))
    return {};  // does not open a pipe, because opening one without a writer blocks
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  if (!in) return {};
  const std::streamoff size = in.tellg(), begin = std::max<std::streamoff>(0, size - kMaxPrinted);
  std::string text(static_cast<std::size_t>(size - begin), '\0');
  in.seekg(begin);
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

}  // namespace

QStringList run_directories(const QString& runs_directory) {
  const QDir runs(runs_directory);
  QStringList directories;
  for (const QString& name :
       runs.entryList(QDir::Dirs | QDir::NoDotAndDotDot, QDir::Name | QDir::Reversed)) {
    const QDir run(runs.filePath(name));
    if (run.exists(telemetry::kRecordingFile) || run.exists(kExperimentFile))
      directories << run.path();
  }
  return directories;
}

RunEntry read_run(const QString& directory) {
  RunEntry entry{.directory = directory,
                 .name = {},
                 .started = time_of(directory),
                 .strategy = {},
                 .state = "no result",
                 .ranks = 0,
                 .accuracy = {},
                 .experiment = {},
                 .result = {},
                 .given = {}};
  fill_from_recording(entry);
  if (!(*entry.experiment).is_object())
    entry.experiment = base::SharedJson(saved_experiment(directory));
  if (const auto resolved = experiment::from_json(*entry.experiment))
    entry.given = base::SharedJson(experiment::to_json(given_experiment(directory, *resolved)));
  entry.name = shown_name(directory, *entry.experiment);
  entry.strategy = words_at(child(*entry.experiment, "strategy"), "kind");
  return entry;
}

QString run_name(const QString& directory, const base::Json& recorded) {
  const base::Json experiment =
      recorded.is_object() ? document_of(recorded) : saved_experiment(directory);
  return shown_name(directory, experiment) + " " + time_of(directory).mid(11);
}

QString run_name(const QString& directory) { return run_name(directory, base::Json()); }

base::Result<void> set_run_label(const QString& directory, const QString& label) {
  return base::write_file_atomically(QDir(directory).filePath(kLabelFile).toStdString(),
                                     label.trimmed().toStdString());
}

experiment::Experiment given_experiment(const QString& directory,
                                        const experiment::Experiment& resolved) {
  auto given = experiment::load(QDir(directory).filePath(kExperimentFile).toStdString());
  if (!given || object_names(given->topology) != object_names(resolved.topology)) return resolved;
  given->data.images = resolved.data.images;
  given->data.labels = resolved.data.labels;
  given->data.file = resolved.data.file;
  return *given;
}

std::optional<std::string> printed_tail(const std::filesystem::path& directory, int rank,
                                        int lines) {
  const auto text =
      read_tail(rank < 0 ? directory / kConsoleFile
                         : directory / "logs" / ("rank-" + std::to_string(rank) + ".log"));
  if (!text) return {};
  std::string_view rest(*text);
  while (rest.ends_with('\n')) rest.remove_suffix(1);
  std::size_t begin = rest.size();
  for (; lines > 0 && begin != std::string_view::npos && begin > 0; --lines)
    begin = rest.rfind('\n', begin - 1);
  return std::string(begin == std::string_view::npos || begin == 0 ? rest : rest.substr(begin + 1));
}

std::string last_output(const std::filesystem::path& directory) {
  static const QRegularExpression progress(QStringLiteral(R"(^\w+  (step )?[\d,]+ of [\d,]+)"));
  const QStringList lines =
      QString::fromStdString(printed_tail(directory, -1, kLastLines).value_or(""))
          .split('\n', Qt::SkipEmptyParts);
  const auto last_progress = std::find_if(lines.rbegin(), lines.rend(), [](const QString& line) {
    return progress.match(line).hasMatch();
  });
  return lines.mid(static_cast<int>(lines.rend() - last_progress)).join('\n').toStdString();
}

}  // namespace trainyard::ui

// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/run_session.h"

#include <utility>

namespace trainyard::ui {

RunSession::RunSession(const Services& services, QObject* parent)
    : QObject(parent), services_(services) {}
RunSession::~RunSession() = default;

std::vector<Run*> RunSession::live_runs() const {
  std::vector<Run*> runs;
  for (const auto& [directory, run] : runs_)
    if (run->live()) runs.push_back(run.get());
  return runs;
}

QStringList RunSession::live_names() const {
  QStringList names;
  for (const Run* run : live_runs()) names << run->name();
  return names;
}

Run* RunSession::commanded() const {
  const std::vector<Run*> live = live_runs();
  return live.empty() || (current_ && current_->live()) ? current_ : live.back();
}

std::vector<Run*> RunSession::shown() const {
  std::vector<Run*> runs;
  for (const QString& directory : ticked_) runs.push_back(runs_.at(directory).get());
  if (runs.empty() && current_) runs.push_back(current_);
  return runs;
}

base::Result<void> RunSession::start(const experiment::Experiment& experiment,
                                     const QString& data_directory, const QString& name) {
  auto run = Run::start(services_, experiment, data_directory, name);
  if (!run) return base::fail(run.error());
  adopt(std::move(*run));
  return {};
}

// Opens a run. A live run that is already followed is not read again. Other runs are read again,
// because the failures of a run that was only ticked were not reported.
void RunSession::open(const QString& directory) {
  if (current_ && current_->directory() == directory) return;
  const auto known = runs_.find(directory);
  if (known != runs_.end() && known->second->live()) show(*known->second);
  else adopt(Run::open(services_, directory));
}

void RunSession::adopt(std::unique_ptr<Run> run) {
  // Keeps the previous object of the same run alive until the views use the new one.
  const auto before = runs_.extract(run->directory());
  show(*keep(std::move(run)));
}

Run* RunSession::keep(std::unique_ptr<Run> run) {
  Run* kept = run.get();
  connect(kept, &Run::updated, this, [this, kept] {
    emit_live_changed();
    emit updated(kept);
  });
  connect(kept, &Run::error_reported, this, [this, kept](const QString& text) {
    if (kept == current_ || kept->live()) emit error_reported(kept, text);
  });
  connect(kept, &Run::ended, this, [this, kept] { emit ended(kept); });
  runs_[kept->directory()] = std::move(run);
  return kept;
}

void RunSession::show(Run& run) {
  current_ = &run;
  emit current_changed();
  emit shown_changed();
  detach();
}

void RunSession::set_ticked(const QStringList& directories) {
  if (directories == ticked_) return;
  ticked_ = directories;
  for (const QString& directory : directories)
    if (!runs_.contains(directory)) keep(Run::open(services_, directory));
  emit shown_changed();
  detach();
}

// Releases runs that are neither displayed nor live.
void RunSession::detach() {
  std::erase_if(runs_, [this](const auto& kept) {
    return kept.second.get() != current_ && !ticked_.contains(kept.first) && !kept.second->live();
  });
  emit_live_changed();
}

void RunSession::emit_live_changed() {
  QStringList live;
  for (const Run* run : live_runs()) live << run->directory();
  if (live == live_) return;
  live_ = live;
  emit live_changed();
}

}  // namespace trainyard::ui

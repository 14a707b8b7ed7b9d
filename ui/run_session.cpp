// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/run_session.h"

namespace trainyard::ui {

RunSession::RunSession(const Services& services, QObject* parent) : QObject(parent), services_(services) {}
RunSession::~RunSession() = default;

std::vector<Run*> RunSession::shown() const {
  std::vector<Run*> runs;
  for (const QString& directory : ticked_) {
    const auto other = others_.find(directory);
    if (current_ && current_->directory() == directory) runs.push_back(current_.get());
    else if (other != others_.end()) runs.push_back(other->second.get());
  }
  if (runs.empty() && current_) runs.push_back(current_.get());
  return runs;
}

base::Result<void> RunSession::start(const experiment::Experiment& experiment, const QString& data_directory) {
  auto run = Run::start(services_, experiment, data_directory);
  if (!run) return base::fail(run.error());
  adopt(std::move(*run));
  return {};
}

void RunSession::open(const QString& directory) {
  if (current_ && current_->directory() == directory) return;
  adopt(Run::open(services_, directory));
}

void RunSession::adopt(std::unique_ptr<Run> run) {
  const std::unique_ptr<Run> before = std::exchange(current_, std::move(run));  // goes when views have let go of it
  connect(current_.get(), &Run::trouble, this, &RunSession::trouble);
  connect(current_.get(), &Run::ended, this, &RunSession::ended);
  if (before && ticked_.contains(before->directory())) others_[before->directory()] = Run::open(services_, before->directory());
  others_.erase(current_->directory());
  emit current_changed();
  emit shown_changed();
}

void RunSession::set_ticked(const QStringList& directories) {
  if (directories == ticked_) return;
  ticked_ = directories;
  std::map<QString, std::unique_ptr<Run>> before = std::move(others_);
  others_.clear();
  for (const QString& directory : directories) {
    if (current_ && current_->directory() == directory) continue;
    const auto known = before.find(directory);
    others_[directory] = known != before.end() ? std::move(known->second) : Run::open(services_, directory);
  }
  emit shown_changed();
}

}  // namespace trainyard::ui

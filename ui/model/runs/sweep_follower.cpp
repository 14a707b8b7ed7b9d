// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/runs/sweep_follower.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <QPointer>
#include <QThreadPool>
#include <csignal>
#include <memory>

#include "core/base/names.h"
#include "core/experiment/document.h"
#include "core/session/sweep/sweep_file.h"
#include "core/session/system/run_directory.h"
#include "ui/model/runs/detached.h"
#include "ui/model/runs/process_alive.h"
#include "ui/model/runs/run_directory.h"

namespace trainyard::ui {
namespace {

constexpr int kLookMilliseconds = 250;

QStringList arguments_of(const session::SweepRequest& wish) {
  QStringList ranks, algorithms;
  for (const std::int64_t count : wish.ranks) ranks << QString::number(count);
  for (const collective::Algorithm one : wish.algorithms)
    algorithms << QString::fromStdString(std::string(base::name_of(one)));
  QStringList arguments{"--steps", QString::number(wish.steps), "--scaling",
                        QString::fromStdString(std::string(base::name_of(wish.scaling)))};
  if (!ranks.isEmpty()) arguments << "--ranks" << ranks.join(',');
  if (!algorithms.isEmpty()) arguments << "--algorithms" << algorithms.join(',');
  return arguments;
}

}  // namespace

QString sweeps_directory(const Services& services) {
  return QDir::cleanPath(services.runs_directory + "/../sweeps");
}

struct SweepFollower::SweepUpdate {
  QString directory;
  std::optional<session::Sweep> sweep;
  QString error_text;
  bool live = false;
};

SweepFollower::SweepFollower(QObject* parent) : QObject(parent) {
  delay_timer_.setSingleShot(true);
  delay_timer_.setInterval(kLookMilliseconds);
  connect(&delay_timer_, &QTimer::timeout, this, &SweepFollower::look);
}

base::Result<void> SweepFollower::start(const Services& services,
                                        const experiment::Experiment& experiment,
                                        const QString& data_directory,
                                        const session::SweepRequest& wish) {
  const auto started = start_detached(
      services, "sweep", sweeps_directory(services), QString::fromStdString(experiment.name),
      experiment, QStringList{"--data-directory", data_directory} + arguments_of(wish));
  if (!started) return base::fail(started.error());
  begin(started->directory, started->process);
  return {};
}

void SweepFollower::follow(const QString& directory) {
  if (directory != directory_) begin(directory, -1);
}

void SweepFollower::begin(const QString& directory, std::int64_t process) {
  directory_ = directory;
  process_ = process;
  sweep_.reset();
  error_text_.clear();
  live_ = process > 0;
  cancels_ = 0;
  emit changed();
  look();
}

bool SweepFollower::ended_early() const {
  return sweep_ && !live_ && sweep_->state == session::SweepState::running;
}

// Reads the sweep's manifest. At most one read is active at a time.
void SweepFollower::look() {
  if (directory_.isEmpty() || looking_) return;
  looking_ = true;
  QThreadPool::globalInstance()->start(
      [follower = QPointer<SweepFollower>(this), directory = directory_, process = process_] {
        auto news = std::make_shared<SweepUpdate>(SweepUpdate{directory, {}, {}, false});
        const std::string path = directory.toStdString();
        // Checks the process before it reads the manifest. If the process has ended, the manifest
        // is then read completely.
        news->live = session::sweeping_process(path).has_value() || process_alive(process);
        if (auto sweep = session::read_sweep(path)) news->sweep = std::move(*sweep);
        else if (QFileInfo::exists(QDir(directory).filePath(session::kSweepFile)))
          news->error_text = QString::fromStdString(base::to_string(sweep.error()));
        else if (!news->live) news->error_text = QString::fromStdString(last_output(path));
        if (!news->sweep && !news->live && news->error_text.isEmpty())
          news->error_text = tr("The sweep ended before it started and printed nothing.");
        QMetaObject::invokeMethod(QCoreApplication::instance(), [follower, news] {
          if (follower) follower->take(*news);
        });
      });
}

void SweepFollower::take(const SweepUpdate& news) {
  looking_ = false;
  if (news.directory != directory_) return look();  // another sweep is followed now
  const auto text = [](const std::optional<session::Sweep>& sweep) {
    return sweep ? sweep->xxh64 : std::string();
  };
  const bool same =
      text(news.sweep) == text(sweep_) && news.live == live_ && news.error_text == error_text_;
  sweep_ = news.sweep;
  live_ = news.live;
  error_text_ = news.error_text;
  if (live_) delay_timer_.start();
  // Emitted also without new data, because the estimated remaining time of a live sweep changes.
  if (!same || live_) emit changed();
}

void SweepFollower::cancel() {
  if (!live_) return;
  ++cancels_;
  emit changed();
  QThreadPool::globalInstance()->start([directory = directory_.toStdString(), started = process_] {
    const auto sweeping = session::sweeping_process(directory);
    const std::int64_t process = sweeping ? *sweeping : process_alive(started) ? started : -1;
    if (process > 0) ::kill(static_cast<pid_t>(process), SIGINT);
  });
}

}  // namespace trainyard::ui

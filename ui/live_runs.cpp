// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/live_runs.h"

#include <QCoreApplication>
#include <QDir>
#include <QPointer>
#include <QThreadPool>
#include <chrono>

#include "core/base/file.h"
#include "ui/model/run_directory.h"

namespace trainyard::ui {
namespace {

constexpr std::chrono::milliseconds kPatience{500};

bool answers(session::ControlClient& client) {
  session::Ask ask;
  ask.id = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  if (!client.send(ask)) return false;
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < until) {
    const auto message = client.receive(std::chrono::milliseconds(50));
    if (!message) return false;
    if (!*message) continue;
    if (const auto* status = std::get_if<session::Status>(&**message)) return status->state < session::RunState::finished;
  }
  return false;
}

bool lives(const Services& services, const QString& directory) {
  auto endpoint = base::read_file(QDir(directory).filePath(kControlFile).toStdString(), 4096);
  if (!endpoint) return false;
  while (!endpoint->empty() && (endpoint->back() == '\n' || endpoint->back() == ' ')) endpoint->pop_back();
  auto client = services.connect(*endpoint);
  return client && answers(**client);
}

}  // namespace

QStringList find_live_runs(const Services& services) {
  QStringList live;
  if (!services.connect) return live;
  for (const QString& directory : run_directories(services.runs_directory))
    if (QFile::exists(QDir(directory).filePath(kControlFile)) && lives(services, directory)) live << directory;
  return live;
}

void find_live_runs_later(const Services& services, QObject* context, std::function<void(const QStringList&)> found) {
  QThreadPool::globalInstance()->start([services, context = QPointer<QObject>(context), found = std::move(found)] {
    const QStringList live = find_live_runs(services);
    QMetaObject::invokeMethod(QCoreApplication::instance(), [context, found, live] {
      if (context) found(live);
    });
  });
}

}  // namespace trainyard::ui

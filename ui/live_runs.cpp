// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/live_runs.h"

#include <QCoreApplication>
#include <QDir>
#include <QPointer>
#include <QThreadPool>
#include <algorithm>
#include <chrono>
#include <thread>

#include "core/base/file.h"
#include "ui/model/runs/run_directory.h"

namespace trainyard::ui {
namespace {

constexpr std::chrono::milliseconds kPatience{500};

struct Asked {
  QString directory;
  std::unique_ptr<session::ControlClient> client;
  std::optional<bool> lives;
};

// Sends a query to the coordinator of a run, at the control endpoint named in the run's directory.
// Returns nothing if the directory names no endpoint.
std::optional<Asked> ask(const Services& services, const QString& directory) {
  auto endpoint = base::read_file(QDir(directory).filePath(kControlFile).toStdString(), 4096);
  if (!endpoint) return {};
  while (!endpoint->empty() && (endpoint->back() == '\n' || endpoint->back() == ' '))
    endpoint->pop_back();
  auto client = services.connect(*endpoint);
  session::Ask question;
  question.id =
      static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  if (!client || !(*client)->send(question)) return {};
  return Asked{directory, std::move(*client), {}};
}

void hear(Asked& asked) {
  const auto message = asked.client->receive(std::chrono::milliseconds(5));
  if (!message) asked.lives = false;
  else if (*message)
    if (const auto* status = std::get_if<session::Status>(&**message))
      asked.lives = status->state < session::RunState::finished;
}

// Queries all coordinators concurrently. There may be many, and a dead one does not answer.
std::vector<Asked> ask_all(const Services& services) {
  std::vector<Asked> all;
  for (const QString& directory :
       services.connect ? run_directories(services.runs_directory) : QStringList())
    if (auto one = ask(services, directory)) all.push_back(std::move(*one));
  const auto unknown = [](const Asked& one) { return !one.lives; };
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (std::ranges::any_of(all, unknown) && std::chrono::steady_clock::now() < until)
    for (Asked& one : all)
      if (!one.lives) hear(one);
  return all;
}

QStringList living(const std::vector<Asked>& all) {
  QStringList live;
  for (const Asked& one : all)
    if (one.lives.value_or(false)) live << one.directory;
  return live;
}

// Closes the connections, each on a separate thread. Closing a connection to a dead coordinator
// takes seconds, because its query is still in the queue.
void close_all(std::vector<Asked> all) {
  std::vector<std::jthread> closing;
  for (Asked& one : all)
    closing.emplace_back([client = std::move(one.client)]() mutable { client.reset(); });
}

}  // namespace

QStringList find_live_runs(const Services& services) {
  auto all = ask_all(services);
  const QStringList live = living(all);
  close_all(std::move(all));
  return live;
}

void find_live_runs_later(const Services& services, QObject* context,
                          std::function<void(const QStringList&)> found) {
  QThreadPool::globalInstance()->start([services, context = QPointer<QObject>(context),
                                        found = std::move(found)] {
    auto all = ask_all(services);
    QMetaObject::invokeMethod(QCoreApplication::instance(), [context, found, live = living(all)] {
      if (context) found(live);
    });
    close_all(std::move(all));
  });
}

}  // namespace trainyard::ui

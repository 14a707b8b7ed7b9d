// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/document/autosave.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QSaveFile>
#include <QUuid>
#include <algorithm>

#include "core/base/json.h"

namespace trainyard::ui {
namespace {

QString lock_of(const QString& copy) { return copy + ".lock"; }

// Locks a copy whose process has ended. Returns null if the process still runs. Whether a lock is
// stale depends only on this process, not on the age of the lock.
std::shared_ptr<QLockFile> lock_dead(const QString& copy) {
  auto lock = std::make_shared<QLockFile>(lock_of(copy));
  lock->setStaleLockTime(0);
  return lock->tryLock(0) ? lock : nullptr;
}

base::Json content_of(const Document& document) {
  return {{"file", document.file().toStdString()},
          {"saved", QDateTime::currentDateTimeUtc().toString(Qt::ISODateWithMs).toStdString()},
          {"experiment", experiment::to_json(document.experiment())}};
}

// Reads a recovery copy; returns false if the file is incomplete.
bool read_copy(Recovery& recovery) {
  QFile file(recovery.copy);
  if (!file.open(QIODevice::ReadOnly)) return false;
  const auto json = base::parse_json(file.readAll().toStdString(), recovery.copy.toStdString());
  if (!json || !json->is_object() || !json->contains("experiment")) return false;
  const auto read = experiment::from_json(json->at("experiment"));
  if (!read) return false;
  const auto text = [&](const char* key) {
    return json->contains(key) && json->at(key).is_string()
               ? QString::fromStdString(json->at(key).get<std::string>())
               : QString();
  };
  recovery.experiment = *read;
  recovery.file = text("file");
  recovery.saved = QDateTime::fromString(text("saved"), Qt::ISODateWithMs);
  return true;
}

bool is_loss(const Recovery& recovery) {
  const QFileInfo file(recovery.file);
  if (recovery.file.isEmpty() || !file.exists()) return true;
  if (file.lastModified() > recovery.saved) return false;
  const auto saved = experiment::load(recovery.file.toStdString());
  return !saved || *saved != recovery.experiment;
}

}  // namespace

QString recovery_directory() {
  const QString state = qEnvironmentVariable("XDG_STATE_HOME");
  return (state.isEmpty() ? QDir::homePath() + "/.local/state" : state) + "/trainyard/recovery";
}

std::vector<Recovery> find_recoveries(const QString& directory) {
  std::vector<Recovery> found;
  for (const QFileInfo& entry : QDir(directory).entryInfoList({"*.json"}, QDir::Files)) {
    Recovery recovery{.copy = entry.absoluteFilePath(),
                      .file = {},
                      .saved = {},
                      .experiment = {},
                      .lock = lock_dead(entry.absoluteFilePath())};
    if (!recovery.lock || !read_copy(recovery)) continue;
    if (is_loss(recovery)) found.push_back(std::move(recovery));
    else discard(recovery);
  }
  std::ranges::sort(found, std::greater{}, &Recovery::saved);
  return found;
}

void discard(const Recovery& recovery) {
  QFile::remove(recovery.copy);
  if (recovery.lock) recovery.lock->unlock();
}

Autosave::Autosave(Document& document, const QString& directory, int delay_milliseconds,
                   QObject* parent)
    : QObject(parent),
      document_(document),
      copy_(directory + "/" + QUuid::createUuid().toString(QUuid::Id128) + ".json") {
  delay_.setSingleShot(true);
  delay_.setInterval(delay_milliseconds);
  connect(&delay_, &QTimer::timeout, this, &Autosave::write_now);
  connect(&document, &Document::changed, this, &Autosave::changed);
  connect(&document, &Document::file_changed, this, &Autosave::changed);
}

Autosave::~Autosave() { remove_copy(); }

void Autosave::recover(const Recovery& recovery) {
  document_.restore(recovery.experiment, recovery.file);
  write_now();
  // Deletes the recovered copy only after the document's own copy has been written.
  if (QFile::exists(copy_)) discard(recovery);
}

// Starts the timer unless it already runs. Edits do not restart the timer, so that a copy is also
// written while the user edits without pause.
void Autosave::changed() {
  if (!document_.dirty()) {
    delay_.stop();
    remove_copy();
  } else if (!delay_.isActive()) {
    delay_.start();
  }
}

void Autosave::write_now() {
  if (!document_.dirty()) return;
  QDir().mkpath(QFileInfo(copy_).absolutePath());
  if (!lock_) {
    lock_ = std::make_unique<QLockFile>(lock_of(copy_));
    lock_->setStaleLockTime(0);
  }
  QSaveFile file(copy_);
  const QByteArray bytes = QByteArray::fromStdString(base::to_text(content_of(document_)));
  const bool written = (lock_->isLocked() || lock_->tryLock(0)) &&
                       file.open(QIODevice::WriteOnly) && file.write(bytes) == bytes.size() &&
                       file.commit();
  if (!written && !said_)
    emit failed(
        tr("Autosave to %1 failed: %2").arg(QFileInfo(copy_).absolutePath(), file.errorString()));
  said_ = !written;
}

void Autosave::remove_copy() {
  QFile::remove(copy_);
  if (lock_) lock_->unlock();
}

}  // namespace trainyard::ui

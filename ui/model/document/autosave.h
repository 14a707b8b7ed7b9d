// SPDX-License-Identifier: GPL-3.0-or-later
// Copies of unsaved work, which survive a crash. While a document has unsaved changes, a copy is
// kept in the recovery directory, under a lock held by this process. Saving or closing the document
// normally removes the copy.
//
// A copy is offered for recovery only if work was lost. This is the case if the process that wrote
// it has ended, and the copy differs from the document's file and is newer than the file.
#pragma once

#include <QDateTime>
#include <QLockFile>
#include <QObject>
#include <QTimer>
#include <memory>
#include <vector>

#include "ui/model/document/document.h"

namespace trainyard::ui {

// $XDG_STATE_HOME/trainyard/recovery
QString recovery_directory();

// A copy left by a crash. Its lock keeps other workbenches from offering it too.
struct Recovery {
  QString copy;     // the recovery file
  QString file;     // the document's file; empty: never saved
  QDateTime saved;  // when the copy was written
  experiment::Experiment experiment;
  std::shared_ptr<QLockFile> lock;
};

// Returns the copies to offer for recovery, newest first. Deletes copies that contain no lost work.
// Keeps copies that cannot be read, but does not return them.
std::vector<Recovery> find_recoveries(const QString& directory = recovery_directory());
void discard(const Recovery& recovery);

class Autosave : public QObject {
  Q_OBJECT
 public:
  explicit Autosave(Document& document, const QString& directory = recovery_directory(),
                    int delay_milliseconds = 1500, QObject* parent = nullptr);
  ~Autosave() override;  // removes the copy, because the document is closed normally

  // Loads the recovered work into the document as unsaved work, and writes a copy of the document.
  void recover(const Recovery& recovery);
  void write_now();  // writes a copy immediately if the document is dirty
  QString copy() const { return copy_; }

 signals:
  // Emitted when a copy cannot be written. Emitted again only after a copy has been written in
  // between.
  void failed(const QString& what);

 private:
  void changed();
  void remove_copy();

  Document& document_;
  QString copy_;
  std::unique_ptr<QLockFile> lock_;
  QTimer delay_;
  bool said_ = false;
};

}  // namespace trainyard::ui

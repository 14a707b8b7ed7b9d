// SPDX-License-Identifier: GPL-3.0-or-later
// Saves unsaved work, so that it survives a crash. While a document is dirty, a copy is kept in the
// recovery directory, under a lock held by this process. Saving the document or closing it normally
// removes the copy.
//
// A copy is offered only if work was lost: its process is dead, and the copy differs from the
// document's file and is newer.
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

// A copy left by a crash. Holding its lock keeps other windows from offering it too.
struct Recovery {
  QString copy;     // the recovery file
  QString file;     // the document's file; empty: never saved
  QDateTime saved;  // when the copy was written
  experiment::Experiment experiment;
  std::shared_ptr<QLockFile> lock;
};

// Returns the copies to offer, newest first. Removes copies that lost nothing; keeps copies that
// cannot be read.
std::vector<Recovery> find_recoveries(const QString& directory = recovery_directory());
void discard(const Recovery& recovery);

class Autosave : public QObject {
  Q_OBJECT
 public:
  explicit Autosave(Document& document, const QString& directory = recovery_directory(),
                    int delay_milliseconds = 1500, QObject* parent = nullptr);
  ~Autosave() override;  // normal close: removes the copy

  void recover(
      // loads it into the document, then keeps it as this document's copy
      const Recovery& recovery);
  void write_now();  // if dirty
  QString copy() const { return copy_; }

 signals:
  // emitted when writing a copy fails; not again before a copy was written
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

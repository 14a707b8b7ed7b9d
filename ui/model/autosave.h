// SPDX-License-Identifier: GPL-3.0-or-later
// Unsaved work survives a crash. While a document is dirty, a copy is kept in the recovery
// directory, under a lock that lasts as long as this process; saving the document, or closing it in
// peace, removes the copy.
//
// A copy is offered only when it is real loss: its process is dead, and it differs from the file it
// came from, which is older.
#pragma once

#include <QDateTime>
#include <QLockFile>
#include <QObject>
#include <QTimer>
#include <memory>
#include <vector>

#include "ui/model/document.h"

namespace trainyard::ui {

// $XDG_STATE_HOME/trainyard/recovery
QString recovery_directory();

// A copy left by a crash. Holding it keeps other windows from offering it too.
struct Recovery {
  QString copy;     // the recovery file
  QString file;     // of the document; empty: never saved
  QDateTime saved;  // when the copy was written
  experiment::Experiment experiment;
  std::shared_ptr<QLockFile> lock;
};

// What is to be offered, newest first. Copies that lost nothing are removed on the way; ones that
// cannot be read stay.
std::vector<Recovery> find_recoveries(const QString& directory = recovery_directory());
void discard(const Recovery& recovery);

class Autosave : public QObject {
  Q_OBJECT
 public:
  explicit Autosave(Document& document, const QString& directory = recovery_directory(),
                    int delay_milliseconds = 1500, QObject* parent = nullptr);
  ~Autosave() override;  // removes the copy: closed in peace

  void recover(
      const Recovery& recovery);  // into the document, then kept as this document's own copy
  void write_now();               // when dirty
  QString copy() const { return copy_; }

 signals:
  void failed(const QString& what);  // once, until a copy could be written again

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

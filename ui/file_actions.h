// SPDX-License-Identifier: GPL-3.0-or-later
// Actions for new, open, save, save as and recent files. Unsaved changes are never discarded
// without a question. Examples open as new documents, so that their files stay unchanged.
#pragma once

#include <QAction>
#include <QObject>

#include "ui/model/document/document.h"
#include "ui/model/document/recent_files.h"
#include "ui/questions.h"

class QMenu;
class QToolBar;

namespace trainyard::ui {

class FileActions : public QObject {
  Q_OBJECT
 public:
  // `examples`: directory of the examples shipped with Trainyard.
  FileActions(Document& document, RecentFiles& recent, const Questions& questions,
              const QString& examples, QObject* parent = nullptr);

  void fill_menu(QMenu& menu);
  void fill_toolbar(QToolBar& bar) const;

  // Actions of the File menu. Each returns true if it was done, and false if the user canceled it
  // or it failed.
  bool new_document();
  bool open(const QString& file);
  // opens the example as a document without a file
  bool open_as_new(const experiment::Experiment& experiment);
  bool open_by_dialog();
  bool save();
  bool save_as();
  // Asks the user if there are unsaved changes. Returns true if the changes may be discarded, or if
  // there are none.
  bool may_discard();
  int saves() const { return saves_; }  // number of successful saves

 signals:
  void opened();  // another document was opened
  void saved();
  void failed(const QString& title, const base::Problems& problems);  // opening failed
  void not_saved(const QString& title, const base::Problems& problems);

 private:
  QAction* add(const QString& icon, const QString& text, const QKeySequence& keys,
               bool (FileActions::*act)());
  bool is_example(const QString& file) const;
  bool save_to(const QString& file);
  void fill_recent(QMenu& menu);
  void fill_examples(QMenu& menu);

  Document& document_;
  RecentFiles& recent_;
  const Questions& questions_;
  QString examples_;
  int saves_ = 0;
  QAction *new_, *open_, *save_, *save_as_;
};

}  // namespace trainyard::ui

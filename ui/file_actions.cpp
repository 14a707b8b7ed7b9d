// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/file_actions.h"

#include <QDir>
#include <QFileInfo>
#include <QMenu>
#include <QRegularExpression>
#include <QToolBar>

#include "core/experiment/document.h"
#include "ui/model/document/display_problems.h"
#include "ui/theme/icons.h"

namespace trainyard::ui {
namespace {

// Adds advice to problems that prevent a file from being opened. The workbench does not open a file
// with an invalid value, so the user must edit it as text.
base::Problems add_advice(base::Problems problems) {
  for (base::Problem& problem : problems)
    if (problem.advice.empty())
      problem.advice =
          FileActions::tr("Correct the file in a text editor, then open it again.").toStdString();
  return problems;
}

}  // namespace

FileActions::FileActions(Document& document, RecentFiles& recent, const Questions& questions,
                         const QString& examples, QObject* parent)
    : QObject(parent),
      document_(document),
      recent_(recent),
      questions_(questions),
      examples_(examples.isEmpty() ? QString() : QDir(examples).canonicalPath()) {
  new_ = add("new", tr("&New"), QKeySequence::New, &FileActions::new_document);
  open_ = add("open", tr("&Open ..."), QKeySequence::Open, &FileActions::open_by_dialog);
  save_ = add("save", tr("&Save"), QKeySequence::Save, &FileActions::save);
  save_as_ =
      add("save-as", tr("Save &as ..."), QKeySequence("Ctrl+Shift+S"), &FileActions::save_as);
}

QAction* FileActions::add(const QString& icon_name, const QString& text, const QKeySequence& keys,
                          bool (FileActions::*act)()) {
  auto* action = new QAction(icon(icon_name), text, this);
  action->setShortcut(keys);
  connect(action, &QAction::triggered, this, act);
  return action;
}

void FileActions::fill_menu(QMenu& menu) {
  menu.addAction(new_);
  menu.addAction(open_);
  QMenu* recent = menu.addMenu(tr("Open &recent"));
  connect(&menu, &QMenu::aboutToShow, this, [this, recent] { fill_recent(*recent); });
  QMenu* examples = menu.addMenu(tr("Open &example"));
  examples->setToolTipsVisible(true);
  examples->setEnabled(!examples_.isEmpty());
  connect(examples, &QMenu::aboutToShow, this, [this, examples] { fill_examples(*examples); });
  menu.addSeparator();
  menu.addAction(save_);
  menu.addAction(save_as_);
}

void FileActions::fill_toolbar(QToolBar& bar) const {
  for (QAction* action : {new_, open_, save_}) bar.addAction(action);
}

void FileActions::fill_recent(QMenu& menu) {
  menu.clear();
  int number = 1;
  for (const QString& file : recent_.files()) {
    const QString name = QFileInfo(file).fileName().replace('&', "&&");
    QAction* action = menu.addAction(QString("&%1 %2").arg(number++ % 10).arg(name), this,
                                     [this, file] { open(file); });
    action->setToolTip(file);
    action->setStatusTip(file);
    action->setEnabled(QFileInfo::exists(file));
  }
  menu.setEnabled(!menu.isEmpty());
  if (menu.isEmpty()) return;
  menu.addSeparator();
  menu.addAction(tr("&Clear the list"), &recent_, &RecentFiles::clear);
}

// Lists the examples; skips unreadable files.
void FileActions::fill_examples(QMenu& menu) {
  menu.clear();
  for (const QFileInfo& file : QDir(examples_).entryInfoList({"*.json"}, QDir::Files, QDir::Name)) {
    const auto example = experiment::load(file.filePath().toStdString());
    if (!example) continue;
    QAction* action = menu.addAction(QString::fromStdString(example->name), this,
                                     [this, path = file.filePath()] { open(path); });
    action->setToolTip(QString::fromStdString(example->notes));
    action->setStatusTip(action->toolTip());
  }
}

bool FileActions::may_discard() {
  if (!document_.dirty()) return true;
  switch (questions_.save_changes(document_.title())) {
    case SaveAnswer::save: return save();
    case SaveAnswer::discard: return true;
    case SaveAnswer::cancel: break;
  }
  return false;
}

bool FileActions::new_document() { return open_as_new(experiment::Experiment{}); }

bool FileActions::open_as_new(const experiment::Experiment& experiment) {
  if (!may_discard()) return false;
  document_.reset(experiment);
  emit opened();
  return true;
}

// Opening a file never starts a run.
bool FileActions::open(const QString& file) {
  if (!may_discard()) return false;
  if (const auto loaded = is_example(file) ? document_.load_as_new(file) : document_.load(file);
      !loaded) {
    recent_.remove(QFileInfo(file).absoluteFilePath());
    emit failed(tr("\"%1\" cannot be opened").arg(QFileInfo(file).fileName()),
                add_advice(loaded.error()));
    return false;
  }
  if (!document_.file().isEmpty()) recent_.add(document_.file());
  emit opened();
  return true;
}

bool FileActions::is_example(const QString& file) const {
  return !examples_.isEmpty() && QFileInfo(file).canonicalPath() == examples_;
}

bool FileActions::open_by_dialog() {
  const QString file = questions_.file_to_open();
  return !file.isEmpty() && open(file);
}

bool FileActions::save() {
  return document_.file().isEmpty() ? save_as() : save_to(document_.file());
}

bool FileActions::save_as() {
  // If a field still shows refused input, reports that before the user is asked for a file name.
  if (document_.refused()) return save_to(document_.title());
  QString name = document_.title();
  name.replace(QRegularExpression(R"([/\\:*?"<>|]+)"), "_");
  if (!name.endsWith(".json")) name += ".json";
  const QString file = questions_.file_to_save(QDir(document_.directory()).filePath(name));
  return !file.isEmpty() && save_to(file);
}

bool FileActions::save_to(const QString& file) {
  if (const auto saved = document_.save(file); !saved) {
    emit not_saved(tr("\"%1\" cannot be saved").arg(QFileInfo(file).fileName()),
                   {display_problems(document_.experiment(), {saved.error()}).front().displayed});
    return false;
  }
  recent_.add(document_.file());
  ++saves_;
  emit saved();
  return true;
}

}  // namespace trainyard::ui

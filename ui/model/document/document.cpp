// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/document/document.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <QPointer>
#include <QThreadPool>
#include <algorithm>
#include <filesystem>
#include <utility>

#include "core/base/fields.h"
#include "core/experiment/resolve.h"
#include "core/experiment/validation_result.h"

namespace trainyard::ui {
namespace {

constexpr int kValidateAfterMilliseconds = 120;
// file of a run directory that is needed for replay; saving must not overwrite it
constexpr const char* kResolvedFile = "resolved.json";

std::filesystem::path path_of(const QString& file) { return file.toStdU16String(); }

// Loads a file. If the file is refused, the result lists as many of the file's problems as can be
// found.
experiment::Checked<experiment::Experiment> load_checked(const QString& file) {
  return experiment::load(path_of(file), {}, path_of(QFileInfo(file).absolutePath()));
}

}  // namespace

// One edit, with full copies of the experiment before and after the edit. It stores no pointers
// into an experiment, so no pointer can dangle.
class EditCommand : public QUndoCommand {
 public:
  EditCommand(Document& document, const QString& text, Document::Snapshot after, QString merge_key)
      : QUndoCommand(text),
        document_(document),
        before_(document.experiment_),
        after_(std::move(after)),
        merge_key_(std::move(merge_key)) {}

  void undo() override { document_.apply(before_); }
  void redo() override { document_.apply(after_); }
  int id() const override { return merge_key_.isEmpty() ? -1 : 1; }
  bool mergeWith(const QUndoCommand* other) override {
    const auto* next = static_cast<const EditCommand*>(other);
    if (next->merge_key_ != merge_key_) return false;
    after_ = next->after_;
    // if a value is changed back to the original one, there is nothing to undo
    setObsolete(*after_ == *before_);
    return true;
  }

 private:
  Document& document_;
  Document::Snapshot before_, after_;
  QString merge_key_;
};

Document::Document(QObject* parent)
    : QObject(parent), experiment_(std::make_shared<const experiment::Experiment>()) {
  validation_.setSingleShot(true);
  validation_.setInterval(kValidateAfterMilliseconds);
  connect(&validation_, &QTimer::timeout, this, &Document::validate);
  connect(&undo_, &QUndoStack::cleanChanged, this, &Document::file_changed);
  validation_.start();
}

// The undo stack emits cleanChanged when it is destroyed. At that time, the objects that receive
// this document's signals may already be destroyed.
Document::~Document() { undo_.disconnect(this); }

QString Document::directory() const {
  return file_.isEmpty() ? QDir::currentPath() : QFileInfo(file_).absolutePath();
}

QString Document::title() const {
  if (!file_.isEmpty()) return QFileInfo(file_).fileName();
  return experiment_->name.empty() ? tr("Untitled") : QString::fromStdString(experiment_->name);
}

QString Document::name() const {
  return experiment_->name.empty() ? QFileInfo(file_).completeBaseName()
                                   : QString::fromStdString(experiment_->name);
}

bool Document::has_devices() const {
  return std::ranges::any_of(experiment_->topology.hosts,
                             [](const topology::Host& host) { return !host.devices.empty(); });
}

DisplayProblems Document::shown_problems() const {
  DisplayProblems shown = display_problems_;
  if (!has_devices())
    std::erase_if(shown, [](const DisplayProblem& problem) {
      return problem.found.where == "topology.hosts";
    });
  return shown;
}

void Document::edit(const QString& text, const std::function<void(experiment::Experiment&)>& change,
                    const QString& merge_key) {
  auto after = std::make_shared<experiment::Experiment>(*experiment_);
  change(*after);
  const auto dropped = experiment::reset_foreign_fields(*after);
  if (*after == *experiment_) return;
  undo_.push(new EditCommand(*this, text, std::move(after), merge_key));
  QStringList paths;
  for (const std::string& path : dropped) paths << QString::fromStdString(path);
  if (!paths.isEmpty()) emit fields_dropped(paths);
}

base::Problems Document::set_value(const QString& path, const base::Json& value) {
  base::Json json = experiment::to_json(*experiment_);
  if (const auto set = base::set_value_at(json, path.toStdString(), value); !set)
    return {set.error()};
  const auto read = experiment::from_json(json);
  if (!read) return read.error();
  // An edit that adds or removes elements of a list gets another merge key, so that it is a
  // separate undo step.
  const QString rows = value.is_array() ? "#" + QString::number(value.size()) : QString();
  edit(
      tr("Set %1").arg(path), [&](experiment::Experiment& experiment) { experiment = *read; },
      "set:" + path + rows);
  return {};
}

void Document::reset(experiment::Experiment experiment, const QString& file) {
  emit about_to_be_reset();
  set_refused({});
  undo_.clear();
  file_ = file.isEmpty() ? QString() : QFileInfo(file).absoluteFilePath();
  apply(std::make_shared<const experiment::Experiment>(std::move(experiment)));
  emit file_changed();
}

void Document::restore(experiment::Experiment experiment, const QString& file) {
  reset(std::move(experiment), file);
  undo_.resetClean();
  emit file_changed();
}

experiment::Checked<experiment::Experiment> Document::load(const QString& file) {
  if (QFileInfo(file).fileName() == kResolvedFile) return load_as_new(file);
  auto loaded = load_checked(file);
  if (loaded) reset(*loaded, file);
  return loaded;
}

experiment::Checked<experiment::Experiment> Document::load_as_new(const QString& file) {
  auto loaded = load_checked(file);
  if (loaded) reset(experiment::located(*loaded, path_of(QFileInfo(file).absolutePath())));
  return loaded;
}

base::Result<void> Document::save(const QString& file) {
  if (refused_)
    return base::fail(*refused_);  // saving would write another value than the form shows
  auto saved = experiment::save(*experiment_, path_of(file));
  if (!saved) return saved;
  const bool moved = QFileInfo(file).absolutePath() != directory();
  file_ = QFileInfo(file).absoluteFilePath();
  undo_.setClean();
  emit file_changed();
  // Relative data paths may now lead to other files, so the experiment is validated again.
  if (moved) validation_.start();
  return saved;
}

void Document::apply(Snapshot experiment) {
  const bool renamed = experiment->name != experiment_->name;
  experiment_ = std::move(experiment);
  validation_.start();
  emit changed();
  if (renamed) emit file_changed();
}

void Document::judge() {
  validation_.stop();
  validate();
}

// Validates on a pool thread, because validation opens data files and generates messages, which
// takes time. Only one validation runs at a time. If the document changes meanwhile, another
// validation follows.
void Document::validate() {
  if (validating_) return void(again_ = true);
  validating_ = true;
  QThreadPool::globalInstance()->start([document = QPointer<Document>(this),
                                        experiment = experiment_,
                                        directory = path_of(directory())] {
    auto assessment = experiment::assess(*experiment, directory);
    auto problems = ui::display_problems(*experiment, assessment.problems);
    QMetaObject::invokeMethod(qApp, [document, experiment, problems = std::move(problems),
                                     notes = std::move(assessment.notes)] {
      if (document) document->validated(experiment, problems, notes);
    });
  });
}

void Document::validated(const Snapshot& experiment, const DisplayProblems& problems,
                         const std::vector<experiment::Note>& notes) {
  validating_ = false;
  if (std::exchange(again_, false) || experiment != experiment_) return validate();
  validation_problems_ = problems;
  notes_ = notes;
  gather_problems();
  emit judged();
}

void Document::set_refused(const std::optional<base::Problem>& typed) {
  if (typed == refused_) return;
  refused_ = typed;
  gather_problems();
}

void Document::gather_problems() {
  DisplayProblems all =
      refused_ ? ui::display_problems(*experiment_, {*refused_}) : DisplayProblems();
  all.insert(all.end(), validation_problems_.begin(), validation_problems_.end());
  if (all == display_problems_) return;
  display_problems_ = std::move(all);
  problems_.clear();
  for (const DisplayProblem& problem : display_problems_) problems_.push_back(problem.found);
  emit problems_changed();
}

}  // namespace trainyard::ui

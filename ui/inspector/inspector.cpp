// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/inspector/inspector.h"

#include <QPushButton>
#include <QRegularExpression>
#include <QScopedValueRollback>
#include <QScrollArea>
#include <QStackedWidget>
#include <QVBoxLayout>
#include <utility>

#include "core/base/json.h"
#include "core/experiment/field_templates.h"
#include "core/experiment/placement.h"
#include "core/experiment/servers.h"
#include "ui/inspector/column.h"
#include "ui/inspector/field_text.h"
#include "ui/inspector/section.h"
#include "ui/model/text/count_text.h"
#include "ui/theme/icons.h"
#include "ui/theme/manual_topic.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

using base::Json;

struct SectionSpec {
  const char* name;  // field of the experiment; empty: the experiment's own text fields
  const char* title;
  const char* icon;
};
constexpr SectionSpec kSections[] = {{"strategy", QT_TR_NOOP("Strategy"), "strategy"},
                                     {"model", QT_TR_NOOP("Model"), "model"},
                                     {"data", QT_TR_NOOP("Data"), "data"},
                                     {"training", QT_TR_NOOP("Training"), "training"},
                                     {"run", QT_TR_NOOP("Run"), "run"},
                                     {"network", QT_TR_NOOP("Network"), "link"},
                                     {"", QT_TR_NOOP("About"), "info"}};

FormHints hints_of(const QString& section) {
  if (section == "data") return {.files = {"images", "labels", "file"}};
  if (section == "training") return {.zero_texts = {{"steps", Inspector::tr("unlimited")}}};
  if (section.isEmpty())
    return {.hidden = {"version", "topology", "model", "data", "strategy", "training", "run",
                       "network"}};
  return {};
}

QString text_of(const base::Problems& problems) {
  QStringList lines;
  for (const base::Problem& problem : problems) lines << problem_line(problem);
  return lines.join("\n");
}

}  // namespace

Inspector::Inspector(Document& document, Selection& selection, QWidget* parent)
    : QWidget(parent),
      document_(document),
      selection_(selection),
      cost_(new CostLine(document, this)),
      pages_(new QStackedWidget(this)) {
  setObjectName("inspector");
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(new Head(cost_, this));
  column->addWidget(pages_, 1);
  pages_->addWidget(new Column(build_experiment(), pages_));
  pages_->addWidget(new Column(build_item(), pages_));
  connect(&document, &Document::changed, this, &Inspector::refresh);
  connect(&document, &Document::file_changed, this, &Inspector::refresh);
  connect(&document, &Document::problems_changed, this, &Inspector::show_problems);
  connect(&document, &Document::judged, this, &Inspector::show_notes);
  connect(&document, &Document::about_to_be_reset, this, &Inspector::forget_refused);
  connect(&selection, &Selection::selection_changed, this, &Inspector::refresh);
  refresh();
}

bool Inspector::shows_experiment() const { return pages_->currentIndex() == 0; }

QWidget* Inspector::build_experiment() {
  auto* page = new QWidget(this);
  auto* column = new QVBoxLayout(page);
  column->setContentsMargins(kGrid, kGrid, kGrid, kGrid);
  for (const SectionSpec& section : kSections) {
    const QString name = section.name;
    column->addWidget(new Section(tr(section.title), section.icon, build_content(name), page));
  }
  column->addStretch(1);
  return page;
}

FieldForm* Inspector::add_form(const QString& section, const FormHints& hints) {
  auto* form = forms_[section] = new FieldForm(hints, this);
  set_manual_field(form, section);
  connect(form, &FieldForm::edited, this,
          [this, section](const QString& path, const Json& value) { edit(section, path, value); });
  connect(form, &FieldForm::refused_changed, this, &Inspector::emit_refused);
  return form;
}

QWidget* Inspector::build_content(const QString& section) {
  if (section == "strategy") return build_strategy();
  if (section == "model") return build_model();
  return section == "data" ? build_data() : add_form(section, hints_of(section));
}

// Builds the fields of the model with its layers below.
QWidget* Inspector::build_model() {
  auto* both = new QWidget(this);
  auto* column = new QVBoxLayout(both);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(add_form("model", {.hidden = {"layers"}}));
  column->addWidget(layers_ = new LayerList(both));
  set_manual_field(layers_, "model.layers[]");
  connect_layers();
  return both;
}

// Builds the fields of the data and, below them, the assignment of samples to ranks.
QWidget* Inspector::build_data() {
  auto* both = new QWidget(this);
  auto* column = new QVBoxLayout(both);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(add_form("data", hints_of("data")));
  column->addWidget(shards_ = new ShardView(both));
  connect(cost_, &CostLine::assignment_known, this, &Inspector::show_assignment);
  return both;
}

void Inspector::show_assignment(const DataAssignment& computed) {
  const bool ask = computed.empty() && recorded_assignment_;
  shards_->show_assignment(document_.experiment(), ask ? recorded_assignment_() : computed,
                           ask ? ShardView::Source::recorded : ShardView::Source::computed);
}

void Inspector::connect_layers() {
  connect(layers_, &LayerList::value_edited, this,
          [this](int layer, const QString& field, const Json& value) {
            const base::Problems refused =
                document_.set_value(QString("model.layers[%1].%2").arg(layer).arg(field), value);
            if (!refused.empty()) layers_->refuse(layer, text_of(refused));
          });
  connect(layers_, &LayerList::refused_changed, this, &Inspector::emit_refused);
  connect(
      layers_, &LayerList::layers_edited, this, [this](const QString& what, const Layers& layers) {
        document_.edit(
            what, [&](experiment::Experiment& experiment) { experiment.model.layers = layers; });
      });
}

QWidget* Inspector::build_item() {
  auto* page = new QWidget(this);
  auto* column = new QVBoxLayout(page);
  column->setContentsMargins(kGrid, kGrid, kGrid, kGrid);
  auto* back = new QPushButton(icon("left"), tr("Experiment"), page);
  back->setToolTip(tr("Clear the selection and show the experiment (Esc on the canvas)"));
  back->setFlat(true);
  connect(back, &QPushButton::clicked, &selection_, &Selection::clear);
  column->addWidget(back, 0, Qt::AlignLeft);
  column->addWidget(item_kind_ = new TintedLabel(TextColor::dim, page));
  column->addWidget(item_title_ = new TintedLabel(TextColor::text, page, 1.3, true));
  item_title_->setTextFormat(Qt::PlainText);
  item_title_->setWordWrap(true);
  column->addWidget(item_hint_ = paragraph(TextColor::dim, page));
  column->addWidget(item_measured_ = paragraph(TextColor::text, page));
  item_measured_->setTextFormat(Qt::PlainText);
  column->addSpacing(kGrid);
  column->addWidget(
      item_form_ = new FieldForm(
          {.hidden = {"devices"},
           .without_default = {"x", "y"},
           .empty_texts = {{"address", tr("This machine")}},
           .suggestions = {{"address",
                            [this] { return machines_ ? machines_() : QStringList(); }}}},
          page));  // hides the position, which is set by dragging
  column->addStretch(1);
  connect(item_form_, &FieldForm::edited, this, &Inspector::edit_item);
  connect(item_form_, &FieldForm::refused_changed, this, &Inspector::emit_refused);
  return page;
}

void Inspector::edit(const QString& section, const QString& path, const Json& value) {
  const base::Problems refused =
      document_.set_value(section.isEmpty() ? path : section + "." + path, value);
  if (!refused.empty()) forms_.at(section)->refuse(path, text_of(refused));
}

void Inspector::edit_item(const QString& field, const Json& value) {
  SelectedObjects picked = selection_.picked();
  base::Problems refused;
  {
    const QScopedValueRollback guard(editing_, true);
    refused = set_field(document_, target_, field, value, picked);
    selection_.set(picked);
  }
  // Shows the reason at the field if the edit was refused. The experiment has then not changed.
  if (!refused.empty()) return item_form_->refuse(field, text_of(refused));
  refresh();
}

void Inspector::refresh() {
  if (editing_) return;
  target_ = target_of(document_.experiment().topology, selection_.picked());
  const bool item = !target_.title.isEmpty();
  if (item) refresh_item();
  refresh_experiment();
  pages_->setCurrentIndex(item ? 1 : 0);
  emit_refused();
  show_problems();
}

std::optional<base::Problem> Inspector::refused() const {
  const auto problem = [](const QString& where, const QString& why) {
    return base::Problem{"input_refused",
                         base::ProblemCode::bad_input,
                         where.toStdString(),
                         why.toStdString(),
                         "",
                         "Type an accepted value, or leave the field to keep the old value."};
  };
  for (const auto& [name, form] : forms_)
    if (const auto text = form->refused())
      return problem(name.isEmpty() ? text->path : name + "." + text->path, text->why);
  if (const auto text = layers_->refused())
    return problem(QString("model.layers[%1]").arg(text->first), text->second);
  const auto text = target_.paths.isEmpty() ? std::nullopt : item_form_->refused();
  return text ? std::optional(problem(target_.paths.first() + "." + text->path, text->why))
              : std::nullopt;
}

void Inspector::emit_refused() {
  document_.set_refused(refused());
  note_batch();
}

// Shows a note below the batch size with the number of samples per step. While a batch size was
// refused, there is no note, because it would describe the old value.
void Inspector::note_batch() {
  FieldForm& training = *forms_.at("training");
  const auto text = training.refused();
  const std::int64_t ranks = experiment::ranks_of_step(document_.experiment());
  if (ranks < 1 || (text && (text->path == "batch_per_rank" || text->path == "accumulation_steps")))
    return training.set_note("batch_per_rank", {});
  const experiment::TrainingSpec& spec = document_.experiment().training;
  const bool split = experiment::splits_model(document_.experiment().strategy.kind);
  const bool apart = !split && ranks < experiment::count_trainers(document_.experiment());
  const QString samples = tr("%n sample(s)", nullptr, plural(ranks * spec.samples_per_rank()));
  QString batch = apart ? tr("Each step uses one worker's batch: %1").arg(samples)
                  : split
                      ? tr("Global batch: %1, each through all layers").arg(samples)
                      : tr("Global batch: %1 over %n rank(s)", nullptr, plural(ranks)).arg(samples);
  if (spec.accumulation_steps > 1)
    batch += split ? tr(", in %n micro-batch(es)", nullptr, plural(spec.accumulation_steps))
                   : tr(", in %n micro-step(s)", nullptr, plural(spec.accumulation_steps));
  training.set_note("batch_per_rank", batch);
}

// Shows the notes of the document below their fields, and removes those that it showed before.
void Inspector::show_notes() {
  std::map<QString, QStringList> texts;
  for (const QString& field : std::exchange(noted_, {})) texts[field];
  for (const experiment::Note& note : document_.notes()) {
    noted_ << QString::fromStdString(note.field);
    texts[noted_.back()] << QString::fromStdString(note.text);
  }
  for (const auto& [field, lines] : texts)
    if (const auto form = forms_.find(field.section('.', 0, 0)); form != forms_.end())
      form->second->set_note(field.section('.', 1), lines.join('\n'));
  layers_->show_notes(document_.notes(), "model.layers");
  show_item_hint();
}

// Shows how edits apply to the selected objects, and the notes of the document on them.
void Inspector::show_item_hint() {
  QStringList lines;
  if (target_.kind.isEmpty()) lines << tr("Select objects of one kind to edit them together.");
  else if (target_.paths.size() > 1) lines << tr("Edits apply to all selected objects.");
  for (const experiment::Note& note : document_.notes())
    if (target_.paths.contains(QString::fromStdString(note.field)))
      lines << QString::fromStdString(note.text);
  item_hint_->setText(lines.join('\n'));
  item_hint_->setVisible(!lines.isEmpty());
}

void Inspector::forget_refused() {
  for (const auto& [name, form] : forms_) form->forget_refused();
  layers_->forget_refused();
  item_form_->forget_refused();
}

void Inspector::refresh_experiment() {
  const experiment::Experiment& experiment = document_.experiment();
  const auto fields = base::describe(experiment);
  const Json values = experiment::to_json(experiment);
  forms_.at("data")->set_directory(document_.directory());
  for (const auto& [name, form] : forms_) {
    if (name.isEmpty()) form->show_fields(fields, values);
    for (const base::FieldDescription& field : fields)
      if (name == QString::fromStdString(field.name))
        form->show_fields(field.fields, values[field.name]);
  }
  layers_->show_layers(experiment.model.layers);
  algorithms_->set_selected(experiment.strategy.algorithm);
  algorithms_->set_used(forms_.at("strategy")->field_shown("algorithm"));
  failures_->show_lines(when_ranks_fail(experiment));
  note_devices();
}

void Inspector::refresh_item() {
  item_title_->setText(target_.title);
  item_kind_->setText(target_.kind);
  const bool several = target_.paths.size() > 1;
  show_item_hint();
  item_form_->setVisible(!target_.kind.isEmpty());
  show_measured();
  set_manual_field(item_form_, target_.paths.value(0));
  std::vector<base::FieldDescription> fields = target_.fields;
  if (several)
    std::erase_if(fields, [](const base::FieldDescription& field) {
      return field.name == "name";
    });  // names are unique
  item_form_->show_fields(fields, *target_.values);
  for (const base::FieldDescription& field : fields) {
    const QString name = QString::fromStdString(field.name);
    item_form_->set_note(name, target_.differing.contains(name) ? tr("Values differ") : QString());
  }
}

void Inspector::show_measured() {
  const QStringList lines = measured_ ? measured_(selection_.picked()) : QStringList();
  item_measured_->setText(lines.join("\n"));
  item_measured_->setVisible(!lines.empty());
}

QString Inspector::measured() const { return item_measured_->text(); }

void Inspector::show_problems() {
  base::Problems displayed;
  for (const auto& [found, words] : document_.display_problems())
    displayed.emplace_back(words).where = found.where;  // the forms find their problems by path
  for (const auto& [name, form] : forms_) form->show_problems(displayed, {name});
  layers_->show_problems(displayed, "model.layers");
  if (!target_.title.isEmpty()) item_form_->show_problems(displayed, target_.paths);
}

void Inspector::go_to(const QString& path) {
  const SelectedObjects picked = selection_at(document_.experiment().topology, path);
  selection_.set(picked);
  refresh();
  if (!picked.empty()) {
    item_form_->focus_field(path.section('.', -1));
    return;
  }
  static const QRegularExpression layer(R"(^model\.layers\[(\d+)\]\.?(\w*))");
  if (const auto match = layer.match(path); match.hasMatch())
    layers_->focus_layer(match.captured(1).toInt(), match.captured(2));
  const QString section = path.section('.', 0, 0);
  if (forms_.contains(section)) forms_.at(section)->focus_field(path.section('.', 1));
  else forms_.at("")->focus_field(path);
  auto* area = qobject_cast<QScrollArea*>(pages_->currentWidget());
  if (QWidget* focused = area->widget()->focusWidget()) area->ensureWidgetVisible(focused);
}

}  // namespace trainyard::ui

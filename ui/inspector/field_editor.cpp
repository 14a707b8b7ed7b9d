// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/inspector/field_editor.h"

#include <QCheckBox>
#include <QComboBox>
#include <QCompleter>
#include <QDir>
#include <QFileDialog>
#include <QFocusEvent>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLineEdit>
#include <QMenu>
#include <QPlainTextEdit>
#include <QStringListModel>
#include <QToolButton>
#include <QWheelEvent>
#include <cmath>

#include "core/base/field_description.h"
#include "core/base/json.h"
#include "ui/inspector/field_text.h"
#include "ui/inspector/number_box.h"
#include "ui/theme/icons.h"

namespace trainyard::ui {
namespace {

using base::FieldDescription;
using base::FieldKind;
using base::Json;

constexpr double kManyCharacters = 5000;  // texts that may be longer get an editor of several lines

// True if the editor loses the focus only temporarily, to a menu or another window. In this case,
// `left` is not emitted.
bool is_temporary_loss(Qt::FocusReason reason) {
  return reason == Qt::PopupFocusReason || reason == Qt::MenuBarFocusReason ||
         reason == Qt::ActiveWindowFocusReason;
}

QString unit_of(const FieldDescription& field) { return QString::fromStdString(field.unit); }

class NumberEditor : public FieldEditor {
 public:
  NumberEditor(const FieldDescription& field, const QString& zero, QWidget* parent)
      : FieldEditor(parent),
        whole_(field.kind == FieldKind::integer),
        box_(new NumberBox(whole_, field.range, unit_of(field), this)) {
    box_->set_zero_text(zero);
    adopt(box_);
    connect(box_, &NumberBox::edited, this, &NumberEditor::read);
  }

 private:
  void show_value(const Json& value) override {
    box_->set_value(value.is_number() ? value.get<double>() : 0);
  }
  void read() {
    const auto typed = box_->typed();
    if (!typed) return emit unreadable(box_->why_unreadable());
    if (whole_ && std::fabs(*typed) < 9.2e18) take(static_cast<std::int64_t>(*typed));
    else take(*typed);
  }

  bool whole_;
  NumberBox* box_;
};

class CheckEditor : public FieldEditor {
 public:
  explicit CheckEditor(QWidget* parent) : FieldEditor(parent), box_(new QCheckBox(this)) {
    adopt(box_);
    connect(box_, &QCheckBox::clicked, this, [this](bool on) { take(on); });
  }

 private:
  void show_value(const Json& value) override {
    box_->setChecked(value.is_boolean() && value.get<bool>());
  }
  QCheckBox* box_;
};

class QuietCombo : public QComboBox {
 public:
  using QComboBox::QComboBox;

 protected:
  void wheelEvent(QWheelEvent* event) override {
    if (hasFocus()) QComboBox::wheelEvent(event);
    else event->ignore();
  }
};

class ChoiceEditor : public FieldEditor {
 public:
  ChoiceEditor(const FieldDescription& field, QWidget* parent)
      : FieldEditor(parent), box_(new QuietCombo(this)) {
    box_->setFocusPolicy(Qt::StrongFocus);
    for (const std::string& choice : field.choices)
      box_->addItem(readable(choice), QString::fromStdString(choice));
    adopt(box_);
    connect(box_, &QComboBox::activated, this,
            [this] { take(box_->currentData().toString().toStdString()); });
  }

 private:
  void show_value(const Json& value) override {
    box_->setCurrentIndex(
        value.is_string() ? box_->findData(QString::fromStdString(value.get<std::string>())) : -1);
  }
  QComboBox* box_;
};

class TextEditor : public FieldEditor {
 public:
  explicit TextEditor(QWidget* parent) : FieldEditor(parent), line_(new QLineEdit(this)) {
    adopt(line_);
    connect(line_, &QLineEdit::textEdited, this,
            [this](const QString& text) { take(text.toStdString()); });
  }

 protected:
  void show_value(const Json& value) override {
    line_->setText(value.is_string() ? QString::fromStdString(value.get<std::string>())
                                     : QString());
  }
  QLineEdit* line_;
};

// Text with suggestions: a menu lists them, and typing completes them. They are read when they are
// shown, because they may change.
class SuggestingEditor : public TextEditor {
 public:
  SuggestingEditor(const EditorStyle& style, QWidget* parent)
      : TextEditor(parent), suggestions_(style.suggestions), empty_text_(style.empty_text) {
    line_->setPlaceholderText(empty_text_);
    auto* completer = new QCompleter(new QStringListModel(this), this);
    completer->setCaseSensitivity(Qt::CaseInsensitive);
    completer->setFilterMode(Qt::MatchContains);
    line_->setCompleter(completer);
    connect(completer, qOverload<const QString&>(&QCompleter::activated), this,
            &SuggestingEditor::choose);
    auto* button = new QToolButton(this);
    button->setIcon(icon("down"));
    button->setToolTip(tr("Suggestions"));
    button->setAccessibleName(tr("Suggestions"));
    auto* menu = new QMenu(button);
    connect(menu, &QMenu::aboutToShow, this, [this, menu] { fill(*menu); });
    // Opened by hand, because a button with a menu paints a second arrow over the icon.
    connect(button, &QToolButton::clicked, menu,
            [button, menu] { menu->popup(button->mapToGlobal(QPoint(0, button->height()))); });
    layout()->addWidget(button);
  }

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override {
    if (event->type() == QEvent::FocusIn)
      static_cast<QStringListModel*>(line_->completer()->model())->setStringList(suggestions_());
    return TextEditor::eventFilter(watched, event);
  }

 private:
  void fill(QMenu& menu) {
    menu.clear();
    if (!empty_text_.isEmpty()) menu.addAction(empty_text_, this, [this] { choose({}); });
    for (const QString& text : suggestions_())
      menu.addAction(QString(text).replace('&', "&&"), this, [this, text] { choose(text); });
  }
  void choose(const QString& text) {
    line_->setText(text);
    take(text.toStdString());
  }

  std::function<QStringList()> suggestions_;
  QString empty_text_;
};

class LongTextEditor : public FieldEditor {
 public:
  explicit LongTextEditor(QWidget* parent) : FieldEditor(parent), text_(new QPlainTextEdit(this)) {
    text_->setTabChangesFocus(true);
    text_->setFixedHeight(fontMetrics().lineSpacing() * 5);
    adopt(text_);
    connect(text_, &QPlainTextEdit::textChanged, this,
            [this] { take(text_->toPlainText().toStdString()); });
  }

 private:
  void show_value(const Json& value) override {
    const QSignalBlocker quiet(text_);
    text_->setPlainText(value.is_string() ? QString::fromStdString(value.get<std::string>())
                                          : QString());
  }
  QPlainTextEdit* text_;
};

class FileEditor : public TextEditor {
 public:
  FileEditor(const QString& directory, QWidget* parent)
      : TextEditor(parent), directory_(directory) {
    auto* button = new QToolButton(this);
    button->setIcon(icon("open"));
    button->setToolTip(tr("Choose a file"));
    button->setAccessibleName(tr("Choose a file"));
    layout()->addWidget(button);
    connect(button, &QToolButton::clicked, this, &FileEditor::choose);
  }

 private:
  // Opens a dialog in which the user chooses a file. A file in or below the experiment's directory
  // is stored as a relative path, so that the experiment and its data can be moved together.
  void choose() {
    const QString file = QFileDialog::getOpenFileName(this, tr("Choose a data file"),
                                                      QDir(directory_).filePath(line_->text()));
    if (file.isEmpty()) return;
    const QString relative = QDir(directory_).relativeFilePath(file);
    const QString name = relative.startsWith("..") ? file : relative;
    line_->setText(name);
    take(name.toStdString());
  }
  QString directory_;
};

}  // namespace

FieldEditor::FieldEditor(QWidget* parent) : QWidget(parent) {
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(2);
}

void FieldEditor::adopt(QWidget* editor) {
  layout()->addWidget(editor);
  setFocusProxy(editor);
  editor->installEventFilter(this);
}

void FieldEditor::set_value(const Json& value) {
  if (value != *value_) reset_value(value);
}

void FieldEditor::reset_value(const Json& value) {
  held_ = false;
  value_ = base::SharedJson(value);
  show_value(*value_);
}

void FieldEditor::hold(const Json& value) {
  held_ = true;
  value_ = base::SharedJson(value);
}

void FieldEditor::take(const Json& value) {
  held_ = false;
  value_ = base::SharedJson(value);
  emit edited(value);
}

bool FieldEditor::eventFilter(QObject* watched, QEvent* event) {
  const bool escaped = held_ && event->type() == QEvent::KeyPress &&
                       static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape;
  if (escaped || (event->type() == QEvent::FocusOut &&
                  !is_temporary_loss(static_cast<QFocusEvent*>(event)->reason()))) {
    held_ = false;
    emit left();
  }
  return escaped || QWidget::eventFilter(watched, event);
}

FieldEditor* make_editor(const FieldDescription& field, const EditorStyle& style, QWidget* parent) {
  switch (field.kind) {
    case FieldKind::boolean: return new CheckEditor(parent);
    case FieldKind::integer:
    case FieldKind::number: return new NumberEditor(field, style.zero_text, parent);
    case FieldKind::choice: return new ChoiceEditor(field, parent);
    case FieldKind::text:
    case FieldKind::document:
    case FieldKind::list: break;
  }
  if (style.file) return new FileEditor(style.directory, parent);
  if (style.suggestions) return new SuggestingEditor(style, parent);
  if (field.range.high > kManyCharacters && std::isfinite(field.range.high))
    return new LongTextEditor(parent);
  return new TextEditor(parent);
}

}  // namespace trainyard::ui
